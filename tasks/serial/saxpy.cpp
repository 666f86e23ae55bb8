/* kernelwright
description = "Scale a vector and add another."
family = "pointwise"
difficulty = "easy"

[sizes]
n = 16777216
[workloads]
small = { n = 262144 }
[arguments]
a = { value = 2.5 }
x = { shape = ["n"] }
y = { shape = ["n"] }
out = { shape = ["n"] }
*/
void saxpy(float a, const float* x, const float* y, float* out, long n) {
  for (long i = 0; i < n; ++i) out[i] = a * x[i] + y[i];
}
