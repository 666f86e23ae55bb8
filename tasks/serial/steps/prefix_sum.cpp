//: base = function-with-constants | | The sizes are known, so the loop's end is too. | Sizes become constants
//: blocks = two-level-scan | | Every sum waits for the one before it, and one core works. | Sums of blocks first, then their scan in double, then each block from its offset
#include <vector>

extern "C" void kernel(const float* x, float* out) {
  constexpr long n = ${n};
//% if blocks
  constexpr long block = 16384;
  static std::vector<double> offset(n / block + 1);
#pragma omp parallel for schedule(static)
  for (long b = 0; b < n / block; ++b) {
    double sum = 0.0;
#pragma omp simd reduction(+ : sum)
    for (long i = b * block; i < (b + 1) * block; ++i) sum += x[i];
    offset[b + 1] = sum;
  }
  for (long b = 0; b < n / block; ++b) offset[b + 1] += offset[b];
#pragma omp parallel for schedule(static)
  for (long b = 0; b < n / block; ++b) {
    float sum = 0.0f;
    for (long i = b * block; i < (b + 1) * block; ++i) out[i] = static_cast<float>(offset[b] + (sum += x[i]));
  }
//% else
  float sum = 0.0f;
  for (long i = 0; i < n; ++i) out[i] = sum += x[i];
//% endif
}
