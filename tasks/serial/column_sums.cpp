/* kernelwright
description = "The sum of every column of a matrix."
family = "reduction"
difficulty = "easy"

[sizes]
rows = 16384
columns = 1024
[workloads]
small = { rows = 1024, columns = 512 }
[arguments]
x = { shape = ["rows", "columns"] }
out = { shape = ["columns"] }
*/
void column_sums(const float* x, float* out, long rows, long columns) {
  for (long j = 0; j < columns; ++j) out[j] = 0.0f;
  for (long i = 0; i < rows; ++i)
    for (long j = 0; j < columns; ++j) out[j] += x[i * columns + j];
}
