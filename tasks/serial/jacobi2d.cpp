/* kernelwright
description = "One Jacobi step on a grid: every inner point becomes the mean of itself and its four neighbours."
family = "stencil"
difficulty = "medium"

[sizes]
rows = 3072
columns = 3072
[workloads]
small = { rows = 512, columns = 512 }
[arguments]
x = { shape = ["rows", "columns"] }
out = { shape = ["rows", "columns"] }
*/
void jacobi2d(const float* x, float* out, long rows, long columns) {
  for (long i = 0; i < rows; ++i)
    for (long j = 0; j < columns; ++j) {
      const float* at = x + i * columns + j;
      const bool inner = i > 0 && j > 0 && i + 1 < rows && j + 1 < columns;
      out[i * columns + j] = inner ? 0.2f * (at[0] + at[-1] + at[1] + at[-columns] + at[columns]) : at[0];
    }
}
