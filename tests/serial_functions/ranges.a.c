/* kernelwright
[sizes]
n = 4000
bins = 32
[arguments]
x = { shape = ["n"], values = "uniform" }
h = { shape = ["bins"] }
*/
void ranges(const float *x, int *h, int n, int bins) {
  for (int i = 0; i < n; i++) {
    int b = (int)(x[i] * bins);
    if (b >= bins) b = bins - 1;
    h[b]++;
  }
}
