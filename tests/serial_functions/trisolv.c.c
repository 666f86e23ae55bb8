/* kernelwright
[sizes]
n = 90
[arguments]
L = { shape = ["n","n"], values = "uniform" }
b = { shape = ["n"] }
x = { shape = ["n"] }
*/
void solve(const float *L, const float *b, float *x, int n) {
  int i, j;
  for (i = 0; i < n; i++) x[i] = b[i];
  for (j = 0; j < n; j++) {
    x[j] /= L[j * n + j] + 50.0f;
    for (i = j + 1; i < n; i++) x[i] -= L[i * n + j] * x[j];
  }
}
