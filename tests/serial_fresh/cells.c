/* kernelwright
[sizes]
n = 10000
g = 32
[arguments]
px = { shape = ["n"], values = "uniform" }
py = { shape = ["n"], values = "uniform" }
count = { shape = ["g", "g"] }
*/
static int cell_of(float u, int g) {
  int c = (int)(u * g);
  return c < 0 ? 0 : c >= g ? g - 1 : c;
}
void cells(const float *px, const float *py, int *count, int n, int g) {
  for (int c = 0; c < g * g; ++c) count[c] = 0;
  for (int i = 0; i < n; ++i) ++count[cell_of(py[i], g) * g + cell_of(px[i], g)];
}
