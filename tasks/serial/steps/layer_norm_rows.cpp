//: base = function-with-constants | | The sizes are known, so the loop's end is too. | Sizes become constants
//: threads = threads-over-rows | | One core of several works. | An equal share of the rows for each core
//: simd = simd-reduction | | Additions of one sum wait for each other: order must be kept. | omp simd reduction in both sums
//: fused = fused-passes | | The row is read three times. | Sum and squares in one pass; the variance is their difference
#include <cmath>

extern "C" void kernel(const float* x, float* out) {
  constexpr long rows = ${rows};
  constexpr long columns = ${columns};
//% if threads
#pragma omp parallel for schedule(static)
//% endif
  for (long i = 0; i < rows; ++i) {
    const float* from = x + i * columns;
//% if fused
    double sum = 0.0, squares = 0.0;
//% else
    float sum = 0.0f, squares = 0.0f;
//% endif
//% if simd and fused
#pragma omp simd reduction(+ : sum, squares)
//% elif simd
#pragma omp simd reduction(+ : sum)
//% endif
//% if fused
    for (long j = 0; j < columns; ++j) sum += from[j], squares += static_cast<double>(from[j]) * from[j];
    const float mean = static_cast<float>(sum / columns);
    const double variance = squares / columns - (sum / columns) * (sum / columns);
//% else
    for (long j = 0; j < columns; ++j) sum += from[j];
    const float mean = sum / columns;
//% if simd
#pragma omp simd reduction(+ : squares)
//% endif
    for (long j = 0; j < columns; ++j) squares += (from[j] - mean) * (from[j] - mean);
    const float variance = squares / columns;
//% endif
    const float scale = 1.0f / std::sqrt(static_cast<float>(variance) + 1e-5f);
    for (long j = 0; j < columns; ++j) out[i * columns + j] = (from[j] - mean) * scale;
  }
}
