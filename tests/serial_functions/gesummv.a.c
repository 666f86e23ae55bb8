/* kernelwright
[sizes]
n = 80
[arguments]
a = { shape = ["n","n"] }
b = { shape = ["n","n"] }
x = { shape = ["n"] }
y = { shape = ["n"] }
alpha = { value = 1.5 }
beta = { value = 0.7 }
*/
void gesummv(int n, float alpha, float beta, const float *a, const float *b, const float *x, float *y) {
  for (int i = 0; i < n; i++) {
    float p = 0, q = 0;
    for (int j = 0; j < n; j++) {
      p += a[i * n + j] * x[j];
      q += b[i * n + j] * x[j];
    }
    y[i] = alpha * p + beta * q;
  }
}
