/* kernelwright
[sizes]
h = 300
w = 400
oh = 720
ow = 1000
[arguments]
src = { shape = ["h", "w", 3], values = "uniform" }
dst = { shape = ["oh", "ow", 3] }
*/
#include <math.h>
void resize(const float *src, float *dst, int h, int w, int oh, int ow) {
  float sy = (float)h / oh, sx = (float)w / ow;
  for (int y = 0; y < oh; y++) {
    for (int x = 0; x < ow; x++) {
      float fy = (y + 0.5f) * sy - 0.5f, fx = (x + 0.5f) * sx - 0.5f;
      int y0 = (int)floorf(fy), x0 = (int)floorf(fx);
      float ty = fy - y0, tx = fx - x0;
      int y1 = y0 + 1, x1 = x0 + 1;
      if (y0 < 0) y0 = 0;
      if (x0 < 0) x0 = 0;
      if (y1 > h - 1) y1 = h - 1;
      if (x1 > w - 1) x1 = w - 1;
      for (int c = 0; c < 3; c++) {
        float top = src[(y0 * w + x0) * 3 + c] * (1 - tx) + src[(y0 * w + x1) * 3 + c] * tx;
        float bottom = src[(y1 * w + x0) * 3 + c] * (1 - tx) + src[(y1 * w + x1) * 3 + c] * tx;
        dst[(y * ow + x) * 3 + c] = top * (1 - ty) + bottom * ty;
      }
    }
  }
}
