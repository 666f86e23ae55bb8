//: base = function-with-constants | | The sizes are known, so the loops' ends are too. | Sizes become constants
//: threads = threads-over-rows | | One core of several works. | An equal share of the rows for each core
//: keep = recompute-instead-of-store | | Every exponential is computed twice. | Kept in the result, and only scaled there
//: simd = vectorised-exponential | | The exponential is a call, one element each, and the sum keeps its order. | -ffast-math and omp simd
//: scale = strength-reduction | | A division for each element. | One reciprocal, and products
//: broad = wider-vectors | | The compiler prefers vectors of 256 bits. | -mprefer-vector-width=512
//: unroll = loop-unrolling | | The loops count as often as they compute. | -funroll-loops
//: fetch = software-prefetch | | The next row is asked for when it is needed. | __builtin_prefetch a row ahead
//% if simd or broad or unroll
// flags: ${"-ffast-math " * simd}${"-mprefer-vector-width=512 " * broad}${"-funroll-loops" * unroll}
//% endif
#include <cmath>

extern "C" void kernel(const float* x, float* out) {
  constexpr long rows = ${rows};
  constexpr long columns = ${columns};
//% if threads
#pragma omp parallel for schedule(static)
//% endif
  for (long i = 0; i < rows; ++i) {
    const float* from = x + i * columns;
    float* to = out + i * columns;
    float most = from[0], sum = 0.0f;
//% if fetch
    for (long j = 0; j < columns; j += 16) __builtin_prefetch(from + columns + j);
//% endif
//% if simd
#pragma omp simd reduction(max : most)
//% endif
    for (long j = 1; j < columns; ++j) most = from[j] > most ? from[j] : most;
//% if keep
    for (long j = 0; j < columns; ++j) sum += to[j] = std::exp(from[j] - most);
//% else
    for (long j = 0; j < columns; ++j) sum += std::exp(from[j] - most);
//% endif
//% if scale
    const float share = 1.0f / sum;
//% endif
//% if keep
    for (long j = 0; j < columns; ++j) to[j] = to[j] ${"* share" if scale else "/ sum"};
//% else
    for (long j = 0; j < columns; ++j) to[j] = std::exp(from[j] - most) ${"* share" if scale else "/ sum"};
//% endif
  }
}
