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
#define DOT(p, q) ((p)[0] * (q)[0] + (p)[1] * (q)[1] + (p)[2] * (q)[2])
void trace(int rays, int balls, const float *dir, const float *ball, int *hit, float *depth) {
  const float *d = dir;
  while (rays--) {
    *hit = -1;
    *depth = 0;
    float aa = DOT(d, d);
    for (int k = balls - 1; k >= 0; k--) {
      const float *c = &ball[k << 2];
      float b = DOT(d, c);
      float s = b * b - aa * (DOT(c, c) - 0.04f * c[3] * c[3]);
      if (s >= 0) {
        s = (b - sqrtf(s)) / aa;
        if (s > 0)
          if (*hit < 0 || s <= *depth) *hit = k, *depth = s;
      }
    }
    d += 3;
    hit++;
    depth++;
  }
}
