/* kernelwright
[sizes]
n = 1600
[arguments]
pos = { shape = ["n", 4], values = "positive" }
acc = { shape = ["n", 3] }
eps = { value = 0.05 }
*/
#include <math.h>
void nbody(const float *pos, float *acc, float eps, int n) {
  for (int i = 0; i < n; i++) {
    float ax = 0, ay = 0, az = 0;
    for (int j = 0; j < n; j++) {
      if (j == i) continue;
      float dx = pos[4 * j] - pos[4 * i];
      float dy = pos[4 * j + 1] - pos[4 * i + 1];
      float dz = pos[4 * j + 2] - pos[4 * i + 2];
      float r2 = dx * dx + dy * dy + dz * dz + eps * eps;
      float f = pos[4 * j + 3] / (r2 * sqrtf(r2));
      ax += f * dx;
      ay += f * dy;
      az += f * dz;
    }
    acc[3 * i] = ax;
    acc[3 * i + 1] = ay;
    acc[3 * i + 2] = az;
  }
}
