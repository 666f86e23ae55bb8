/* kernelwright
[sizes]
rays = 3000
balls = 40
[arguments]
dir = { shape = ["rays", 3], values = "uniform" }
ball = { shape = ["balls", 4], values = "positive" }
hit = { shape = ["rays"] }
depth = { shape = ["rays"] }
*/
#include <math.h>
static float dot3(const float *a, const float *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
void trace(int rays, int balls, const float *dir, const float *ball, int *hit, float *depth) {
  for (int i = 0; i < rays; i++) {
    const float *d = dir + 3 * i;
    float closest = 1e30f;
    int which = -1;
    for (int k = 0; k < balls; k++) {
      const float *c = ball + 4 * k;
      float b = dot3(d, c), a = dot3(d, d), e = dot3(c, c) - 0.04f * c[3] * c[3];
      float disc = b * b - a * e;
      if (disc < 0) continue;
      float t = (b - sqrtf(disc)) / a;
      if (t > 0 && t < closest) {
        closest = t;
        which = k;
      }
    }
    hit[i] = which;
    depth[i] = which < 0 ? 0 : closest;
  }
}
