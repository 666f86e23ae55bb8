/* kernelwright
description = "The logistic function of each element."
family = "pointwise"
difficulty = "easy"

[sizes]
n = 8388608
[workloads]
small = { n = 262144 }
[arguments]
x = { shape = ["n"] }
out = { shape = ["n"] }
*/
#include <cmath>

void sigmoid(const float* x, float* out, long n) {
  for (long i = 0; i < n; ++i) out[i] = 1.0f / (1.0f + std::exp(-x[i]));
}
