//: base = function-with-constants | | The sizes are known, so the loops' ends are too. | Sizes become constants
//: threads = threads-over-rows | | One core of several works. | An equal share of the queries for each core
//: arrays = layout-change | | Coordinates lie three apart: a vector of them takes three loads and shuffles. | An array for each coordinate
//: simd = simd-reduction | | Each minimum waits for the one before: order must be kept. | omp simd reduction
#include <vector>

extern "C" void kernel(const float* query, const float* point, float* out) {
  constexpr long queries = ${queries};
  constexpr long points = ${points};
//% if arrays
  std::vector<float> px(points), py(points), pz(points);
  for (long j = 0; j < points; ++j) {
    px[j] = point[3 * j];
    py[j] = point[3 * j + 1];
    pz[j] = point[3 * j + 2];
  }
#define X(j) px[j]
#define Y(j) py[j]
#define Z(j) pz[j]
//% else
#define X(j) point[3 * (j)]
#define Y(j) point[3 * (j) + 1]
#define Z(j) point[3 * (j) + 2]
//% endif
//% if threads
#pragma omp parallel for schedule(static)
//% endif
  for (long i = 0; i < queries; ++i) {
    const float x = query[3 * i], y = query[3 * i + 1], z = query[3 * i + 2];
    float least = 3.0e38f;
//% if simd
#pragma omp simd reduction(min : least)
//% endif
    for (long j = 0; j < points; ++j) {
      const float dx = X(j) - x, dy = Y(j) - y, dz = Z(j) - z, square = dx * dx + dy * dy + dz * dz;
      least = square < least ? square : least;
    }
    out[i] = least;
  }
}
