//: base = function-with-constants | | The sizes are known, so the loops' ends are too. | Sizes become constants
//: threads = threads-over-rows | | One core of several works. | An equal share of the rows for each core
//: tile = register-tiling-cpu | | The result is read and written for every step of the inner dimension. | Four rows by sixty-four columns in registers
#include <cstring>

extern "C" void kernel(const float* a, const float* b, float* c) {
  constexpr long m = ${m};
  constexpr long n = ${n};
  constexpr long k = ${k};
//% if threads
#pragma omp parallel for schedule(static)
//% endif
//% if tile
  for (long i = 0; i < m; i += 4)
    for (long first = 0; first < n; first += 64) {
      float sums[4][64] = {};
      for (long l = 0; l < k; ++l)
        for (long r = 0; r < 4; ++r)
          for (long j = 0; j < 64; ++j) sums[r][j] += a[(i + r) * k + l] * b[l * n + first + j];
      for (long r = 0; r < 4; ++r) std::memcpy(c + (i + r) * n + first, sums[r], sizeof sums[r]);
    }
//% else
  for (long i = 0; i < m; ++i) {
    std::memset(c + i * n, 0, n * sizeof(float));
    for (long l = 0; l < k; ++l)
      for (long j = 0; j < n; ++j) c[i * n + j] += a[i * k + l] * b[l * n + j];
  }
//% endif
}
