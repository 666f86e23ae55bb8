//: base = function-with-constants | | The sizes are known, so the loops' ends are too. | Sizes become constants
//: threads = threads-over-rows | | One core of several works. | An equal share of the bodies for each core
//: arrays = layout-change | | Coordinates lie three apart: a vector of them takes three loads and shuffles. | An array for each coordinate
//: simd = simd-reduction | | Additions of one sum wait for each other: order must be kept. | omp simd reduction
#include <cmath>
#include <vector>

extern "C" void kernel(const float* position, const float* mass, float* out) {
  constexpr long n = ${n};
//% if arrays
  std::vector<float> px(n), py(n), pz(n);
  for (long j = 0; j < n; ++j) {
    px[j] = position[3 * j];
    py[j] = position[3 * j + 1];
    pz[j] = position[3 * j + 2];
  }
#define X(j) px[j]
#define Y(j) py[j]
#define Z(j) pz[j]
//% else
#define X(j) position[3 * (j)]
#define Y(j) position[3 * (j) + 1]
#define Z(j) position[3 * (j) + 2]
//% endif
//% if threads
#pragma omp parallel for schedule(static)
//% endif
  for (long i = 0; i < n; ++i) {
    const float x = X(i), y = Y(i), z = Z(i);
    float ax = 0.0f, ay = 0.0f, az = 0.0f;
//% if simd
#pragma omp simd reduction(+ : ax, ay, az)
//% endif
    for (long j = 0; j < n; ++j) {
      const float dx = X(j) - x, dy = Y(j) - y, dz = Z(j) - z, square = dx * dx + dy * dy + dz * dz + 0.01f;
      const float pull = mass[j] / (square * std::sqrt(square));
      ax += dx * pull;
      ay += dy * pull;
      az += dz * pull;
    }
    out[3 * i] = ax;
    out[3 * i + 1] = ay;
    out[3 * i + 2] = az;
  }
}
