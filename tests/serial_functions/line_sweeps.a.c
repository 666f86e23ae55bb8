/* kernelwright
[sizes]
n = 220
steps = 3
[arguments]
u = { shape = ["n", "n"], values = "uniform", inout = true }
*/
void line_sweeps(int n, int steps, double *u) {
  for (int t = 0; t < steps; t++) {
    for (int i = 0; i < n; i++) {
      for (int j = 1; j < n; j++) u[i * n + j] = 0.4 * u[i * n + j - 1] + 0.6 * u[i * n + j];
      for (int j = n - 2; j >= 0; j--) u[i * n + j] = 0.3 * u[i * n + j + 1] + 0.7 * u[i * n + j];
    }
    for (int j = 0; j < n; j++) {
      for (int i = 1; i < n; i++) u[i * n + j] = 0.4 * u[(i - 1) * n + j] + 0.6 * u[i * n + j];
      for (int i = n - 2; i >= 0; i--) u[i * n + j] = 0.3 * u[(i + 1) * n + j] + 0.7 * u[i * n + j];
    }
  }
}
