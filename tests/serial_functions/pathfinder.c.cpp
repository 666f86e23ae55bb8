/* kernelwright
[sizes]
rows = 20
cols = 300
[arguments]
wall = { shape = ["rows","cols"], values = "index", bound = 10 }
best = { shape = ["cols"] }
*/
#include <algorithm>
#include <vector>
void dynamic(const int* wall, int* best, int rows, int cols) {
  std::vector<int> old(cols);
  const int* line = wall;
  for (int j = 0; j < cols; ++j) best[j] = line[j];
  for (int i = 1; i < rows; ++i) {
    line += cols;
    for (int j = 0; j < cols; ++j) old[j] = best[j];
    for (int j = 0; j < cols; ++j) {
      int m = old[j];
      m = std::min(m, old[std::max(j - 1, 0)]);
      m = std::min(m, old[std::min(j + 1, cols - 1)]);
      best[j] = line[j] + m;
    }
  }
}
