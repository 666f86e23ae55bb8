/* kernelwright
[sizes]
height = 480
width = 640
[arguments]
src = { shape = ["height * width"] }
mask = { shape = [5, 5] }
dst = { shape = ["height * width"] }
*/
#include <algorithm>

template <int R>
static float at_pixel(const float* src, const float* mask, int height, int width, int y, int x) {
  float total = 0.0f;
  for (int v = -R; v <= R; ++v) {
    const int sy = std::min(std::max(y + v, 0), height - 1);
    for (int u = -R; u <= R; ++u) {
      const int sx = std::min(std::max(x + u, 0), width - 1);
      total += src[sy * width + sx] * mask[(v + R) * (2 * R + 1) + (u + R)];
    }
  }
  return total;
}

void convolve(const float* src, const float* mask, float* dst, int height, int width) {
  constexpr int R = 2;
  auto inside = [&](int y, int x) {
    float total = 0.0f;
    for (int v = 0; v < 2 * R + 1; ++v)
      for (int u = 0; u < 2 * R + 1; ++u)
        total += src[(y + v - R) * width + (x + u - R)] * mask[v * (2 * R + 1) + u];
    return total;
  };
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      if (y >= R && y < height - R && x >= R && x < width - R)
        dst[y * width + x] = inside(y, x);
      else
        dst[y * width + x] = at_pixel<R>(src, mask, height, width, y, x);
    }
  }
}
