/* kernelwright
description = "Running sums of a long vector."
family = "scan"
difficulty = "hard"

[sizes]
n = 4194304
[workloads]
small = { n = 262144 }
[arguments]
x = { shape = ["n"] }
out = { shape = ["n"] }
*/
void prefix_sum(const float* x, float* out, long n) {
  float sum = 0.0f;
  for (long i = 0; i < n; ++i) out[i] = sum += x[i];
}
