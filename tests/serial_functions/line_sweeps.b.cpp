/* kernelwright
[sizes]
n = 220
steps = 3
[arguments]
u = { shape = ["n", "n"], values = "uniform", inout = true }
*/
static void smooth(double *line, int many, int stride) {
  auto blend = [](double a, double b, double w) { return w * a + (1.0 - w) * b; };
  for (int j = 1; j < many; ++j) line[j * stride] = blend(line[(j - 1) * stride], line[j * stride], 0.4);
  for (int j = many - 2; j >= 0; --j) line[j * stride] = blend(line[(j + 1) * stride], line[j * stride], 0.3);
}
void line_sweeps(int n, int steps, double *u) {
  for (auto t = 0; t < steps; ++t) {
    for (auto i = 0; i < n; ++i) smooth(u + i * n, n, 1);
    for (auto j = 0; j < n; ++j) smooth(u + j, n, n);
  }
}
