/* kernelwright
[sizes]
n = 160
k = 90
[arguments]
alpha = { value = 1.5 }
beta = { value = 0.5 }
A = { shape = ["n", "k"] }
B = { shape = ["n", "k"] }
C = { shape = ["n", "n"], inout = true }
*/
#define M2(X, s) X##s
void rank_update(int n, int k, float alpha, float beta, const float *A, const float *B, float *C) {
  float *c = C + (long)n * n;
  int i = n;
  while (i-- > 0) {
    c -= n;
    const float *a = A + i * k, *b = B + i * k;
    int j = i + 1;
    while (j--) {
      float M2(t, 1) = 0, M2(t, 2) = 0;
      const float *x = A + j * k, *y = B + j * k;
      for (int l = k - 1; l >= 0; l--) {
        t1 += x[l] * b[l];
        t2 += y[l] * a[l];
      }
      c[j] = c[j] * beta + alpha * (t1 + t2);
    }
  }
}
