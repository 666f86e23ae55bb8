/* kernelwright
description = "The mean categorical cross entropy of rows of scores and their classes."
family = "reduction"
difficulty = "medium"

[sizes]
rows = 1048576
classes = 10
[workloads]
small = { rows = 16384, classes = 10 }
[arguments]
x = { shape = ["rows", "classes"] }
target = { shape = ["rows"], values = "index", bound = "classes" }
out = { shape = [1] }
*/
#include <cmath>

void cross_entropy(const float* x, const int* target, float* out, long rows, long classes) {
  double total = 0.0;
  for (long i = 0; i < rows; ++i) {
    const float* from = x + i * classes;
    float most = from[0], sum = 0.0f;
    for (long j = 1; j < classes; ++j) most = from[j] > most ? from[j] : most;
    for (long j = 0; j < classes; ++j) sum += std::exp(from[j] - most);
    total += most + std::log(sum) - from[target[i]];
  }
  out[0] = static_cast<float>(total / rows);
}
