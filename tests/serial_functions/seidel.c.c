/* kernelwright
[sizes]
n = 70
sweeps = 2
[arguments]
a = { shape = ["n", "n"], values = "uniform", inout = true }
*/
void relax(int n, int sweeps, float *a) {
  while (sweeps-- > 0) {
    float *r = a + n;
    int y = n - 2;
    for (; y; y--, r += n) {
      float *p = r + 1, *e = r + n - 1;
      while (p != e) {
        *p = (p[-n] + p[-1] + p[1] + p[n]) * .25f;
        p++;
      }
    }
  }
}
