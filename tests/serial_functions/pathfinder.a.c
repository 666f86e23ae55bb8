/* kernelwright
[sizes]
rows = 20
cols = 300
[arguments]
wall = { shape = ["rows","cols"], values = "index", bound = 10 }
best = { shape = ["cols"] }
*/
void path(const int *wall, int *best, int rows, int cols) {
  int old[300];
  for (int j = 0; j < cols; j++) best[j] = wall[j];
  for (int i = 1; i < rows; i++) {
    for (int j = 0; j < cols; j++) old[j] = best[j];
    for (int j = 0; j < cols; j++) {
      int m = old[j];
      if (j > 0 && old[j - 1] < m) m = old[j - 1];
      if (j < cols - 1 && old[j + 1] < m) m = old[j + 1];
      best[j] = wall[i * cols + j] + m;
    }
  }
}
