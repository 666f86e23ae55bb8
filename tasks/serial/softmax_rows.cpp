/* kernelwright
description = "The softmax of every row."
family = "normalisation"
difficulty = "medium"

[sizes]
rows = 2048
columns = 2048
[workloads]
small = { rows = 256, columns = 1024 }
[arguments]
x = { shape = ["rows", "columns"] }
out = { shape = ["rows", "columns"] }
*/
#include <cmath>

void softmax_rows(const float* x, float* out, long rows, long columns) {
  for (long i = 0; i < rows; ++i) {
    const float* from = x + i * columns;
    float most = from[0], sum = 0.0f;
    for (long j = 1; j < columns; ++j) most = from[j] > most ? from[j] : most;
    for (long j = 0; j < columns; ++j) sum += std::exp(from[j] - most);
    for (long j = 0; j < columns; ++j) out[i * columns + j] = std::exp(from[j] - most) / sum;
  }
}
