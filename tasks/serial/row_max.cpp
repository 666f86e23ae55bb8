/* kernelwright
description = "The largest element of every row."
family = "reduction"
difficulty = "easy"

[sizes]
rows = 4096
columns = 4096
[workloads]
small = { rows = 512, columns = 1024 }
[arguments]
x = { shape = ["rows", "columns"] }
out = { shape = ["rows"] }
*/
void row_max(const float* x, float* out, long rows, long columns) {
  for (long i = 0; i < rows; ++i) {
    float most = x[i * columns];
    for (long j = 1; j < columns; ++j) most = x[i * columns + j] > most ? x[i * columns + j] : most;
    out[i] = most;
  }
}
