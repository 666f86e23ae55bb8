//: base = function-with-constants | | The sizes are known, so the loops' ends are too. | Sizes become constants
//: threads = threads-over-rows | | One core of several works. | An equal share of the rows for each core
//: rim = unmasked-main-loop | | Every point asks whether it lies at the rim. | The rim is copied apart, the inner loop has no branch
#include <cstring>

extern "C" void kernel(const float* x, float* out) {
  constexpr long rows = ${rows};
  constexpr long columns = ${columns};
//% if threads
#pragma omp parallel for schedule(static)
//% endif
  for (long i = 0; i < rows; ++i) {
    const float* from = x + i * columns;
    float* to = out + i * columns;
//% if rim
    if (i == 0 || i + 1 == rows) {
      std::memcpy(to, from, columns * sizeof(float));
      continue;
    }
    to[0] = from[0];
    to[columns - 1] = from[columns - 1];
    for (long j = 1; j + 1 < columns; ++j)
      to[j] = 0.2f * (from[j] + from[j - 1] + from[j + 1] + from[j - columns] + from[j + columns]);
//% else
    for (long j = 0; j < columns; ++j) {
      const bool inner = i > 0 && j > 0 && i + 1 < rows && j + 1 < columns;
      to[j] = inner ? 0.2f * (from[j] + from[j - 1] + from[j + 1] + from[j - columns] + from[j + columns]) : from[j];
    }
//% endif
  }
}
