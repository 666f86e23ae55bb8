/* kernelwright
[sizes]
rows = 80
cols = 120
[arguments]
cost = { shape = ["rows", "cols"], values = "uniform" }
acc = { shape = ["rows", "cols"] }
*/
#include <algorithm>
// seam carving: cheapest way down to each pixel
void seam(const float* cost, float* acc, int rows, int cols) {
  std::copy(cost, cost + cols, acc);
  for (int r = 1; r < rows; ++r) {
    const float* above = acc + (r - 1) * cols;
    float* here = acc + r * cols;
    for (int c = 0; c < cols; ++c) {
      float m = above[c];
      if (c > 0) m = std::min(m, above[c - 1]);
      if (c + 1 < cols) m = std::min(m, above[c + 1]);
      here[c] = m + cost[r * cols + c];
    }
  }
}
