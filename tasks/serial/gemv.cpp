/* kernelwright
description = "A matrix times a vector."
family = "contraction"
difficulty = "easy"

[sizes]
rows = 8192
columns = 2048
[workloads]
small = { rows = 1024, columns = 512 }
[arguments]
a = { shape = ["rows", "columns"] }
x = { shape = ["columns"] }
out = { shape = ["rows"] }
*/
void gemv(const float* a, const float* x, float* out, long rows, long columns) {
  for (long i = 0; i < rows; ++i) {
    float sum = 0.0f;
    for (long j = 0; j < columns; ++j) sum += a[i * columns + j] * x[j];
    out[i] = sum;
  }
}
