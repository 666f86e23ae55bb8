/* kernelwright
[sizes]
m = 70
n = 90
[arguments]
a = { shape = ["m","n"] }
x = { shape = ["n"] }
y = { shape = ["n"] }
t = { shape = ["m"] }
*/
void atax(int m, int n, const float *a, const float *x, float *y, float *t) {
  for (int i = 0; i < n; i++) y[i] = 0;
  for (int i = 0; i < m; i++) {
    t[i] = 0;
    for (int j = 0; j < n; j++) t[i] += a[i * n + j] * x[j];
    for (int j = 0; j < n; j++) y[j] += a[i * n + j] * t[i];
  }
}
