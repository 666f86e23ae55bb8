//: base = function-with-constants | | The sizes are known, so the loops' ends are too. | Sizes become constants
//: threads = threads-over-rows | | One core of several works. | An equal share of the bodies for each core
//: arrays = layout-change | | Coordinates lie three apart: a vector of them takes three loads and shuffles. | An array for each coordinate
//: simd = simd-reduction | | Additions of one sum wait for each other: order must be kept. | omp simd reduction
//: relaxed = relaxed-arithmetic | | Errors of the square root and the order of additions bind the compiler. | -ffast-math
//: inverse = strength-reduction | | A root and a division for each pair. | The reciprocal root, cubed by multiplications
//: broad = wider-vectors | | The compiler prefers vectors of 256 bits. | -mprefer-vector-width=512
//: tile = register-tiling-cpu | | Every body is read once for each other one. | Two bodies at a time
//% if relaxed or broad
// flags: ${"-ffast-math " * relaxed}${"-mprefer-vector-width=512" * broad}
//% endif
#include <cmath>
#include <vector>

static inline float pull(float mass, float square) {
//% if inverse
  const float inverse = 1.0f / std::sqrt(square);
  return mass * inverse * inverse * inverse;
//% else
  return mass / (square * std::sqrt(square));
//% endif
}

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
//% if tile
  for (long i = 0; i < n; i += 2) {
    const float x = X(i), y = Y(i), z = Z(i), u = X(i + 1), v = Y(i + 1), w = Z(i + 1);
    float ax = 0.0f, ay = 0.0f, az = 0.0f, bx = 0.0f, by = 0.0f, bz = 0.0f;
//% if simd
#pragma omp simd reduction(+ : ax, ay, az, bx, by, bz)
//% endif
    for (long j = 0; j < n; ++j) {
      const float dx = X(j) - x, dy = Y(j) - y, dz = Z(j) - z, du = X(j) - u, dv = Y(j) - v, dw = Z(j) - w;
      const float first = pull(mass[j], dx * dx + dy * dy + dz * dz + 0.01f);
      const float second = pull(mass[j], du * du + dv * dv + dw * dw + 0.01f);
      ax += dx * first;
      ay += dy * first;
      az += dz * first;
      bx += du * second;
      by += dv * second;
      bz += dw * second;
    }
    out[3 * i] = ax;
    out[3 * i + 1] = ay;
    out[3 * i + 2] = az;
    out[3 * i + 3] = bx;
    out[3 * i + 4] = by;
    out[3 * i + 5] = bz;
  }
//% else
  for (long i = 0; i < n; ++i) {
    const float x = X(i), y = Y(i), z = Z(i);
    float ax = 0.0f, ay = 0.0f, az = 0.0f;
//% if simd
#pragma omp simd reduction(+ : ax, ay, az)
//% endif
    for (long j = 0; j < n; ++j) {
      const float dx = X(j) - x, dy = Y(j) - y, dz = Z(j) - z;
      const float force = pull(mass[j], dx * dx + dy * dy + dz * dz + 0.01f);
      ax += dx * force;
      ay += dy * force;
      az += dz * force;
    }
    out[3 * i] = ax;
    out[3 * i + 1] = ay;
    out[3 * i + 2] = az;
  }
//% endif
}
