/* kernelwright
[sizes]
n = 1500
[arguments]
pos = { shape = ["n", 3], values = "uniform" }
force = { shape = ["n", 3] }
box = { value = 12.0 }
cut = { value = 3.0 }
*/
#include <math.h>
double lennard_jones(const double *pos, double *force, double box, double cut, int n) {
  double energy = 0.0;
  for (int i = 0; i < n; i++) {
    for (int j = i + 1; j < n; j++) {
      double d[3], r2 = 0.0;
      for (int c = 0; c < 3; c++) {
        d[c] = pos[3 * i + c] - pos[3 * j + c];
        d[c] = box * (d[c] - rint(d[c]));
        r2 += d[c] * d[c];
      }
      if (r2 > cut * cut) continue;
      if (r2 < 0.5) r2 = 0.5;
      double s2 = 1.0 / r2, s6 = s2 * s2 * s2;
      energy += 4.0 * s6 * (s6 - 1.0);
      double f = 24.0 * s2 * s6 * (2.0 * s6 - 1.0);
      for (int c = 0; c < 3; c++) {
        force[3 * i + c] += f * d[c];
        force[3 * j + c] -= f * d[c];
      }
    }
  }
  return energy;
}
