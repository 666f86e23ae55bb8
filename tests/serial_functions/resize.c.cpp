/* kernelwright
[sizes]
sh = 300
sw = 400
dh = 720
dw = 1000
[arguments]
src = { shape = ["sh", "sw", 3], values = "uniform" }
dst = { shape = ["dh", "dw", 3] }
*/
#include <algorithm>
#include <cmath>

struct Tap {
  int low, high;
  float weight;
};

static Tap tap(int index, int given, int wanted) {
  const float at = (index + 0.5f) * given / wanted - 0.5f;
  const float below = std::floor(at);
  Tap t;
  t.low = std::max(static_cast<int>(below), 0);
  t.high = std::min(static_cast<int>(below) + 1, given - 1);
  t.weight = at - below;
  return t;
}

template <typename T>
static T mix(T a, T b, T t) {
  return a + (b - a) * t;
}

void bilinear(const float* src, float* dst, int sh, int sw, int dh, int dw) {
  for (int y = 0; y < dh; ++y) {
    const Tap v = tap(y, sh, dh);
    for (int x = 0; x < dw; ++x) {
      const Tap u = tap(x, sw, dw);
      auto pixel = [&](int i, int j, int c) { return src[(i * sw + j) * 3 + c]; };
      for (int c = 0; c < 3; ++c) {
        const float top = mix(pixel(v.low, u.low, c), pixel(v.low, u.high, c), u.weight);
        const float bottom = mix(pixel(v.high, u.low, c), pixel(v.high, u.high, c), u.weight);
        dst[(y * dw + x) * 3 + c] = mix(top, bottom, v.weight);
      }
    }
  }
}
