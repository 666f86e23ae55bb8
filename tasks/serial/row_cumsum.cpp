/* kernelwright
description = "Running sums along every row."
family = "scan"
difficulty = "medium"

[sizes]
rows = 4096
columns = 2048
[workloads]
small = { rows = 256, columns = 1024 }
[arguments]
x = { shape = ["rows", "columns"] }
out = { shape = ["rows", "columns"] }
*/
void row_cumsum(const float* x, float* out, long rows, long columns) {
  for (long i = 0; i < rows; ++i) {
    float sum = 0.0f;
    for (long j = 0; j < columns; ++j) out[i * columns + j] = sum += x[i * columns + j];
  }
}
