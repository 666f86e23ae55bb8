/* kernelwright
description = "The larger of each element and zero."
family = "pointwise"
difficulty = "easy"

[sizes]
n = 16777216
[workloads]
small = { n = 262144 }
[arguments]
x = { shape = ["n"] }
out = { shape = ["n"] }
*/
void relu(const float* x, float* out, long n) {
  for (long i = 0; i < n; ++i) out[i] = x[i] > 0.0f ? x[i] : 0.0f;
}
