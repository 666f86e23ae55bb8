/* kernelwright
description = "A linear layer: a product of two matrices, a bias for each column, and no negative results."
family = "contraction"
difficulty = "hard"

[sizes]
m = 1024
n = 1024
k = 128
[workloads]
small = { m = 256, n = 256, k = 64 }
[arguments]
a = { shape = ["m", "k"] }
b = { shape = ["k", "n"] }
bias = { shape = ["n"] }
c = { shape = ["m", "n"] }
*/
void gemm_bias_relu(const float* a, const float* b, const float* bias, float* c, long m, long n, long k) {
  for (long i = 0; i < m; ++i) {
    for (long j = 0; j < n; ++j) c[i * n + j] = bias[j];
    for (long l = 0; l < k; ++l)
      for (long j = 0; j < n; ++j) c[i * n + j] += a[i * k + l] * b[l * n + j];
    for (long j = 0; j < n; ++j) c[i * n + j] = c[i * n + j] > 0.0f ? c[i * n + j] : 0.0f;
  }
}
