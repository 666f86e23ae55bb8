/* kernelwright
[sizes]
w = 160
h = 120
[arguments]
img = { shape = ["h", "w"], values = "uniform" }
out = { shape = ["h", "w"] }
*/
#include <math.h>
#define AT(p, y, x) ((p)[(y) * w + (x)])
#define CLAMP(v, lo, hi) ((v) < (lo) ? (lo) : ((v) > (hi) ? (hi) : (v)))
/* gradient magnitude with replicated borders */
void sobel(const float *restrict img, float *restrict out, int w, int h) {
  for (int y = 0; y < h; y++)
    for (int x = 0; x < w; x++) {
      float gx = 0, gy = 0;
      static const int kx[9] = {-1, 0, 1, -2, 0, 2, -1, 0, 1};
      static const int ky[9] = {-1, -2, -1, 0, 0, 0, 1, 2, 1};
      for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++) {
          float v = AT(img, CLAMP(y + dy, 0, h - 1), CLAMP(x + dx, 0, w - 1));
          gx += kx[(dy + 1) * 3 + dx + 1] * v;
          gy += ky[(dy + 1) * 3 + dx + 1] * v;
        }
      AT(out, y, x) = sqrtf(gx * gx + gy * gy);
    }
}
