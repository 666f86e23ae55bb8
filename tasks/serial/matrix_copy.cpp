/* kernelwright
description = "A matrix, element by element."
family = "layout"
difficulty = "easy"

[sizes]
rows = 4096
columns = 4096
[workloads]
small = { rows = 512, columns = 512 }
[arguments]
x = { shape = ["rows", "columns"] }
out = { shape = ["rows", "columns"] }
*/
void matrix_copy(const float* x, float* out, long rows, long columns) {
  for (long j = 0; j < columns; ++j)
    for (long i = 0; i < rows; ++i) out[i * columns + j] = x[i * columns + j];
}
