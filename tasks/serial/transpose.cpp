/* kernelwright
description = "A matrix with its rows as columns."
family = "layout"
difficulty = "easy"

[sizes]
rows = 4096
columns = 4096
[workloads]
small = { rows = 512, columns = 1024 }
[arguments]
x = { shape = ["rows", "columns"] }
out = { shape = ["columns", "rows"] }
*/
void transpose(const float* x, float* out, long rows, long columns) {
  for (long i = 0; i < rows; ++i)
    for (long j = 0; j < columns; ++j) out[j * rows + i] = x[i * columns + j];
}
