/* kernelwright
[sizes]
n = 1600
[arguments]
given = { shape = ["n * 4"], values = "positive" }
acc = { shape = ["n * 3"] }
*/
#include <math.h>
#define EPS2 (0.05f * 0.05f)
struct body { float x, y, z, mass; };
struct vec { float x, y, z; };

static struct vec felt(struct body at, const struct body *all, int n) {
  struct vec a = {0.0f, 0.0f, 0.0f};
  for (int j = 0; j < n; j++) {
    struct vec d = {all[j].x - at.x, all[j].y - at.y, all[j].z - at.z};
    float r2 = d.x * d.x + d.y * d.y + d.z * d.z + EPS2;
    float f = all[j].mass / (r2 * sqrtf(r2));
    a.x += f * d.x;
    a.y += f * d.y;
    a.z += f * d.z;
  }
  return a;
}

void forces(const float *given, float *acc, int n) {
  const struct body *all = (const struct body *)given;
  struct vec *out = (struct vec *)acc;
  for (int i = 0; i < n; i++) out[i] = felt(all[i], all, n);
}
