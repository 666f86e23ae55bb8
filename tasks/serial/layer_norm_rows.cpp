/* kernelwright
description = "Every row, less its mean and over its standard deviation."
family = "normalisation"
difficulty = "medium"

[sizes]
rows = 4096
columns = 2048
[workloads]
small = { rows = 512, columns = 1024 }
[arguments]
x = { shape = ["rows", "columns"] }
out = { shape = ["rows", "columns"] }
*/
#include <cmath>

void layer_norm_rows(const float* x, float* out, long rows, long columns) {
  for (long i = 0; i < rows; ++i) {
    const float* from = x + i * columns;
    float sum = 0.0f, squares = 0.0f;
    for (long j = 0; j < columns; ++j) sum += from[j];
    const float mean = sum / columns;
    for (long j = 0; j < columns; ++j) squares += (from[j] - mean) * (from[j] - mean);
    const float scale = 1.0f / std::sqrt(squares / columns + 1e-5f);
    for (long j = 0; j < columns; ++j) out[i * columns + j] = (from[j] - mean) * scale;
  }
}
