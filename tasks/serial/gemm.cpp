/* kernelwright
description = "The product of two matrices."
family = "contraction"
difficulty = "hard"

[sizes]
m = 1024
n = 1024
k = 256
[workloads]
small = { m = 256, n = 256, k = 128 }
[arguments]
a = { shape = ["m", "k"] }
b = { shape = ["k", "n"] }
c = { shape = ["m", "n"] }
*/
void gemm(const float* a, const float* b, float* c, long m, long n, long k) {
  for (long i = 0; i < m; ++i)
    for (long l = 0; l < k; ++l) {
      const float left = a[i * k + l];
      for (long j = 0; j < n; ++j) c[i * n + j] += left * b[l * n + j];
    }
}
