/* kernelwright
description = "The sum of a vector."
family = "reduction"
difficulty = "easy"

[sizes]
n = 16777216
[workloads]
small = { n = 524288 }
[arguments]
x = { shape = ["n"] }
out = { shape = [1] }
*/
void sum(const float* x, float* out, long n) {
  double total = 0.0;
  for (long i = 0; i < n; ++i) total += x[i];
  out[0] = static_cast<float>(total);
}
