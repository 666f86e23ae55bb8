//: base = function-with-constants | | The sizes are known, so the loops' ends are too. | Sizes become constants
//: threads = threads-over-rows | | One core of several works. | An equal share of the rows for each core
//: tile = register-tiling-cpu | | The result is read and written for every step of the inner dimension. | Four rows by sixty-four columns in registers
//: pack = layout-change | tile | The tile's columns of the right matrix lie a row apart. | Copied into panels of sixty-four columns
//: tall = register-blocking | tile | Each word of the right matrix serves four rows. | Eight rows
//: broad = wider-vectors | | The compiler prefers vectors of 256 bits. | -mprefer-vector-width=512
//: unroll = loop-unrolling | | The inner loop counts as often as it computes. | -funroll-loops
//: fetch = software-prefetch | | The next row of the right matrix is asked for when it is needed. | __builtin_prefetch eight rows ahead
//% if broad or unroll
// flags: ${"-mprefer-vector-width=512 " * broad}${"-funroll-loops" * unroll}
//% endif
#include <cstring>
#include <vector>

extern "C" void kernel(const float* a, const float* b, float* c) {
  constexpr long m = ${m};
  constexpr long n = ${n};
  constexpr long k = ${k};
//% if pack
  std::vector<float> packed(n * k);
  for (long first = 0; first < n; first += 64)
    for (long l = 0; l < k; ++l) std::memcpy(&packed[first * k + l * 64], b + l * n + first, 64 * sizeof(float));
//% endif
//% if tile
  constexpr long R = ${8 if tall else 4};
//% if threads
#pragma omp parallel for schedule(static)
//% endif
  for (long i = 0; i < m; i += R)
    for (long first = 0; first < n; first += 64) {
      float sums[R][64] = {};
      for (long l = 0; l < k; ++l) {
//% if pack
        const float* from = &packed[first * k + l * 64];
//% else
        const float* from = b + l * n + first;
//% endif
//% if fetch
        __builtin_prefetch(from + 8 * ${"64" if pack else "n"});
//% endif
        for (long r = 0; r < R; ++r)
          for (long j = 0; j < 64; ++j) sums[r][j] += a[(i + r) * k + l] * from[j];
      }
      for (long r = 0; r < R; ++r) std::memcpy(c + (i + r) * n + first, sums[r], sizeof sums[r]);
    }
//% else
//% if threads
#pragma omp parallel for schedule(static)
//% endif
  for (long i = 0; i < m; ++i) {
    std::memset(c + i * n, 0, n * sizeof(float));
    for (long l = 0; l < k; ++l) {
//% if fetch
      for (long j = 0; j < n; j += 16) __builtin_prefetch(b + (l + 1) * n + j);
//% endif
      for (long j = 0; j < n; ++j) c[i * n + j] += a[i * k + l] * b[l * n + j];
    }
  }
//% endif
}
