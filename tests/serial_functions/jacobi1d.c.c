/* kernelwright
[sizes]
n = 600
steps = 9
[arguments]
a = { shape = ["n"], inout = true }
b = { shape = ["n"], inout = true }
*/
#define THIRD 0.33333f
#define AVG(p) (THIRD * ((p)[-1] + (p)[0] + (p)[1]))
void sweep(float *a, float *b, int steps, int n) {
  int t, i;
  for (t = 0; t < steps; ++t) {
    for (i = 1; i <= n - 2; ++i) b[i] = AVG(a + i);
    i = 1;
    do { a[i] = AVG(&b[i]); i++; } while (i < n - 1);
  }
}
