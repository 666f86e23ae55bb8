/* kernelwright
[sizes]
n = 60000
steps = 10
[arguments]
p = { shape = ["n", 6], values = "uniform", inout = true }
dt = { value = 0.05 }
*/
int particles(double *p, double dt, int n, int steps) {
  int bounces = 0;
  for (int t = 0; t < steps; t++) {
    for (int i = 0; i < n; i++) {
      p[i * 6 + 5] -= 9.81 * dt;
      for (int c = 0; c < 3; c++) {
        double x = p[i * 6 + c] + dt * p[i * 6 + 3 + c];
        if (x < 0.0) {
          x = -x;
          p[i * 6 + 3 + c] *= -0.9;
          bounces++;
        } else if (x > 1.0) {
          x = 2.0 - x;
          p[i * 6 + 3 + c] *= -0.9;
          bounces++;
        }
        p[i * 6 + c] = x;
      }
    }
  }
  return bounces;
}
