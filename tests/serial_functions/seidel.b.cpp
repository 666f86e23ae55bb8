/* kernelwright
[sizes]
n = 70
sweeps = 2
[arguments]
a = { shape = ["n", "n"], values = "uniform", inout = true }
*/
struct Grid {
  float *cells;
  int n;
  float &at(int i, int j) { return cells[i * n + j]; }
  void update(int i, int j) { at(i, j) = 0.25f * (at(i - 1, j) + at(i, j - 1) + at(i, j + 1) + at(i + 1, j)); }
};
void relax(int n, int sweeps, float *a) {
  Grid grid{a, n};
  for (int t = 0; t < sweeps; ++t)
    for (int i = 1; i < n - 1; ++i)
      for (int j = 1; j < n - 1; ++j) grid.update(i, j);
}
