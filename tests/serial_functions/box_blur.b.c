/* kernelwright
[sizes]
ny = 500
nx = 700
radius = 4
[arguments]
in = { shape = ["ny * nx"] }
out = { shape = ["ny * nx"] }
*/
#include <stdlib.h>
void smooth(const float *in, float *out, int ny, int nx, int radius) {
  float *mid = malloc(sizeof(float) * ny * nx);
  int y, x, k;
  for (y = ny - 1; y >= 0; --y) {
    const float *row = in + y * nx;
    for (x = nx - 1; x >= 0; --x) {
      float acc = 0.f;
      for (k = x - radius; k <= x + radius; ++k) acc += k < 0 ? row[0] : k < nx ? row[k] : row[nx - 1];
      mid[y * nx + x] = acc / (2 * radius + 1);
    }
  }
  for (y = ny - 1; y >= 0; --y) {
    for (x = nx - 1; x >= 0; --x) {
      float acc = 0.f;
      for (k = y - radius; k <= y + radius; ++k) acc += mid[(k < 0 ? 0 : k < ny ? k : ny - 1) * nx + x];
      out[y * nx + x] = acc / (2 * radius + 1);
    }
  }
  free(mid);
}
