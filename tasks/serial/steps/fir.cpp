//: base = function-with-constants | | The sizes are known, so the loops' ends are too. | Sizes become constants
//: threads = threads-over-rows | | One core of several works. | An equal share of the samples for each core
//: swap = loop-interchange | | Each sample's sum waits for itself. | Sixty-four samples side by side, tap after tap
#include <cstring>

extern "C" void kernel(const float* x, const float* tap, float* out) {
  constexpr long n = ${n};
  constexpr long taps = ${taps};
//% if threads
#pragma omp parallel for schedule(static)
//% endif
//% if swap
  for (long first = 0; first < n; first += 64) {
    float sums[64] = {};
    for (long k = 0; k < taps; ++k)
      for (long i = 0; i < 64; ++i) sums[i] += x[first + i + k] * tap[k];
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
