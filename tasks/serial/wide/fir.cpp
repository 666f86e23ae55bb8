//: base = function-with-constants | | The sizes are known, so the loops' ends are too. | Sizes become constants
//: threads = threads-over-rows | | One core of several works. | An equal share of the samples for each core
//: swap = loop-interchange | | Each sample's sum waits for itself. | Sixty-four samples side by side, tap after tap
//: large = block-size | swap | Every tap is read once for sixty-four samples. | Two hundred and fifty-six
//: stream = streaming-stores | swap | Every line of the result is read before it is written. | Stores past the caches
//: relaxed = relaxed-arithmetic | | The order of additions binds the compiler. | -ffast-math
//: broad = wider-vectors | | The compiler prefers vectors of 256 bits. | -mprefer-vector-width=512
//: unroll = loop-unrolling | | The inner loop counts as often as it computes. | -funroll-loops
//% if relaxed or broad or unroll
// flags: ${"-ffast-math " * relaxed}${"-mprefer-vector-width=512 " * broad}${"-funroll-loops" * unroll}
//% endif
#include <cstring>
//% if stream
#include <immintrin.h>
//% endif

extern "C" void kernel(const float* x, const float* tap, float* out) {
  constexpr long n = ${n};
  constexpr long taps = ${taps};
//% if threads
#pragma omp parallel for schedule(static)
//% endif
//% if swap
  for (long first = 0; first < n; first += ${256 if large else 64}) {
    alignas(64) float sums[${256 if large else 64}] = {};
    for (long k = 0; k < taps; ++k)
      for (long i = 0; i < ${256 if large else 64}; ++i) sums[i] += x[first + i + k] * tap[k];
//% if stream
    if ((unsigned long long)out % 16 == 0)
      for (long i = 0; i < ${256 if large else 64}; i += 4) _mm_stream_ps(out + first + i, _mm_load_ps(sums + i));
    else
//% endif
    std::memcpy(out + first, sums, sizeof sums);
  }
//% else
  for (long i = 0; i < n; ++i) {
    float sum = 0.0f;
    for (long k = 0; k < taps; ++k) sum += x[i + k] * tap[k];
    out[i] = sum;
  }
//% endif
}
