/* kernelwright
[sizes]
bodies = 1600
[arguments]
body = { shape = ["bodies", 4], values = "positive" }
pull = { shape = ["bodies", 3] }
soft = { value = 0.05 }
*/
#include <math.h>
#include <string.h>
/* every pair once: what one body feels, the other feels the other way round */
void gravity(const float *body, float *pull, float soft, int bodies) {
  memset(pull, 0, sizeof(float) * 3 * bodies);
  for (int i = bodies - 1; i > 0; --i) {
    const float *p = body + 4 * i;
    float *fi = pull + 3 * i;
    const float *q = body;
    float *fj = pull;
    int j = 0;
    while (j < i) {
      float d[3], r2 = soft * soft;
      for (int c = 0; c < 3; ++c) {
        d[c] = q[c] - p[c];
        r2 += d[c] * d[c];
      }
      const float inv = 1.0f / sqrtf(r2);
      const float inv3 = inv * inv * inv;
      for (int c = 0; c < 3; ++c) {
        fi[c] += q[3] * inv3 * d[c];
        fj[c] -= p[3] * inv3 * d[c];
      }
      q += 4;
      fj += 3;
      j++;
    }
  }
}
