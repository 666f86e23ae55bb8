/* kernelwright
description = "Every row of 1024 numbers in ascending order."
family = "sorting"
difficulty = "hard"

[sizes]
rows = 512
columns = 1024
[workloads]
small = { rows = 64 }
[arguments]
x = { shape = ["rows", "columns"] }
out = { shape = ["rows", "columns"] }
*/
#include <algorithm>

void row_sort(const float* x, float* out, long rows, long columns) {
  for (long i = 0; i < rows; ++i) {
    std::copy(x + i * columns, x + (i + 1) * columns, out + i * columns);
    std::sort(out + i * columns, out + (i + 1) * columns);
  }
}
