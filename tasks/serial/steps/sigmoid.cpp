//: base = function-with-constants | | The sizes are known, so the loop's end is too. | Sizes become constants
//: threads = threads-over-rows | | One core of several works. | An equal share for each core
//: restrict = restrict-pointers | | The compiler must assume that the result overlaps the inputs, and checks. | __restrict__
//: fast = vectorised-exponential | | The exponential is a call, one element each. | -ffast-math and omp simd
//% if fast
// flags: -ffast-math
//% endif
#include <cmath>

extern "C" void kernel(
//% if restrict
    const float* __restrict__ x, float* __restrict__ out
//% else
    const float* x, float* out
//% endif
) {
  constexpr long n = ${n};
//% if threads and fast
#pragma omp parallel for simd schedule(static)
//% elif threads
#pragma omp parallel for schedule(static)
//% elif fast
#pragma omp simd
//% endif
  for (long i = 0; i < n; ++i) out[i] = 1.0f / (1.0f + std::exp(-x[i]));
}
