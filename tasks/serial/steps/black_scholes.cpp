//: base = function-with-constants | | The sizes are known, so the loop's end is too. | Sizes become constants
//: threads = threads-over-rows | | One core of several works. | An equal share for each core
//: flags = vectorised-exponential | | Logarithm and exponential are calls, one element each. | -ffast-math lets the compiler take the vector library
//% if flags
// flags: -ffast-math
//% endif
#include <cmath>

static float normal(float d) { return 0.5f * std::erfc(-d * 0.70710678f); }

extern "C" void kernel(const float* spot, const float* strike, const float* years, float* call) {
  constexpr long n = ${n};
//% if threads
#pragma omp parallel for schedule(static)
//% endif
  for (long i = 0; i < n; ++i) {
    const float spread = 0.3f * std::sqrt(years[i]);
    const float d1 = (std::log(spot[i] / strike[i]) + 0.065f * years[i]) / spread;
    call[i] = spot[i] * normal(d1) - strike[i] * std::exp(-0.02f * years[i]) * normal(d1 - spread);
  }
}
