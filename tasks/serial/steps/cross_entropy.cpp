//: base = function-with-constants | | The sizes are known, so the loop's end is too. | Sizes become constants
//: threads = privatised-partials | | One core of several works, and a shared sum would be fought over. | Each core has a sum of its own
//: fast = vectorised-exponential | | The exponential is a call, one element each. | -ffast-math lets the compiler compute several
//% if fast
// flags: -ffast-math
//% endif
#include <cmath>

extern "C" void kernel(const float* x, const int* target, float* out) {
  constexpr long rows = ${rows};
  constexpr long classes = ${classes};
  double total = 0.0;
//% if threads
#pragma omp parallel for reduction(+ : total) schedule(static)
//% endif
  for (long i = 0; i < rows; ++i) {
    const float* from = x + i * classes;
    float most = from[0], sum = 0.0f;
    for (long j = 1; j < classes; ++j) most = from[j] > most ? from[j] : most;
//% if fast
#pragma omp simd reduction(+ : sum)
//% endif
    for (long j = 0; j < classes; ++j) sum += std::exp(from[j] - most);
    total += most + std::log(sum) - from[target[i]];
  }
  out[0] = static_cast<float>(total / rows);
}
