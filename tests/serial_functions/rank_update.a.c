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
void rank_update(int n, int k, float alpha, float beta, const float *A, const float *B, float *C) {
  for (int i = 0; i < n; i++) {
    for (int j = 0; j <= i; j++) C[i * n + j] *= beta;
    for (int l = 0; l < k; l++)
      for (int j = 0; j <= i; j++)
        C[i * n + j] += A[j * k + l] * alpha * B[i * k + l] + B[j * k + l] * alpha * A[i * k + l];
  }
}
