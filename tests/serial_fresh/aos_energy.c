/* kernelwright
[sizes]
n = 200
[arguments]
b = { shape = ["n", 4], values = "positive" }
e = { shape = ["n"] }
*/
#include <math.h>
typedef struct { float x, y, z, m; } body;
void aos_energy(const body *b, float *e, int n) {
  for (int i = 0; i < n; i++) {
    float s = 0;
    for (int j = 0; j < n; j++) {
      if (j == i) continue;
      const body *o = &b[j];
      float dx = o->x - b[i].x, dy = o->y - b[i].y, dz = o->z - b[i].z;
      s -= o->m / sqrtf(dx * dx + dy * dy + dz * dz + 1e-4f);
    }
    e[i] = 0.5f * b[i].m * s;
  }
}
