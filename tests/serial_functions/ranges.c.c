/* kernelwright
[sizes]
n = 4000
bins = 32
[arguments]
x = { shape = ["n"], values = "uniform" }
h = { shape = ["bins"] }
*/
#define SLOT(v) ((int)((v) * bins) < bins ? (int)((v) * bins) : bins - 1)
void tally(const float *x, int *h, int n, int bins) {
  const float *end = x + n;
  int i = n;
  while (i > 0) {
    h[SLOT(x[n - i])] += 1;
    i--;
  }
}
