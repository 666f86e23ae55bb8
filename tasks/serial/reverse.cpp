/* kernelwright
description = "A vector from its last element to its first."
family = "layout"
difficulty = "easy"

[sizes]
n = 16777216
[workloads]
small = { n = 262144 }
[arguments]
x = { shape = ["n"] }
out = { shape = ["n"] }
*/
void reverse(const float* x, float* out, long n) {
  for (long i = 0; i < n; ++i) out[i] = x[n - 1 - i];
}
