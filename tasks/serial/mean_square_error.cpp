/* kernelwright
description = "The mean of the squared differences of two vectors."
family = "reduction"
difficulty = "easy"

[sizes]
n = 16777216
[workloads]
small = { n = 524288 }
[arguments]
x = { shape = ["n"] }
y = { shape = ["n"] }
out = { shape = [1] }
*/
void mean_square_error(const float* x, const float* y, float* out, long n) {
  double total = 0.0;
  for (long i = 0; i < n; ++i) total += (static_cast<double>(x[i]) - y[i]) * (static_cast<double>(x[i]) - y[i]);
  out[0] = static_cast<float>(total / n);
}
