//: base = function-with-constants | | The sizes are known, so the loop's end is too. | Sizes become constants
//: block = cache-blocking | | The whole row of sums is read and written for every row. | Sixty-four columns at a time, held in registers
//: threads = threads-over-rows | block | One core of several works. | An equal share of the columns for each core
#include <cstring>

extern "C" void kernel(const float* x, float* out) {
  constexpr long rows = ${rows};
  constexpr long columns = ${columns};
//% if block
//% if threads
#pragma omp parallel for schedule(static)
//% endif
  for (long first = 0; first < columns; first += 64) {
    float sums[64] = {};
    for (long i = 0; i < rows; ++i)
      for (long j = 0; j < 64; ++j) sums[j] += x[i * columns + first + j];
    std::memcpy(out + first, sums, sizeof sums);
  }
//% else
  std::memset(out, 0, columns * sizeof(float));
  for (long i = 0; i < rows; ++i)
    for (long j = 0; j < columns; ++j) out[j] += x[i * columns + j];
//% endif
}
