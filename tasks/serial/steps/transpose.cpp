//: base = function-with-constants | | The sizes are known, so the loops' ends are too. | Sizes become constants
//: tile = cache-blocking | | Every write touches a line of its own, which is gone before its next word comes. | Tiles of 32 x 32
//: threads = threads-over-rows | | One core of several works. | An equal share of the rows for each core
//: swap = loop-interchange | | Writes that wander cost more than reads that do. | The inner loop walks the result
extern "C" void kernel(const float* x, float* out) {
  constexpr long rows = ${rows};
  constexpr long columns = ${columns};
//% if tile
//% if threads
#pragma omp parallel for schedule(static)
//% endif
  for (long a = 0; a < rows; a += 32)
    for (long b = 0; b < columns; b += 32)
//% if swap
      for (long j = b; j < b + 32; ++j)
        for (long i = a; i < a + 32; ++i) out[j * rows + i] = x[i * columns + j];
//% else
      for (long i = a; i < a + 32; ++i)
        for (long j = b; j < b + 32; ++j) out[j * rows + i] = x[i * columns + j];
//% endif
//% else
//% if threads
#pragma omp parallel for schedule(static)
//% endif
//% if swap
  for (long j = 0; j < columns; ++j)
    for (long i = 0; i < rows; ++i) out[j * rows + i] = x[i * columns + j];
//% else
  for (long i = 0; i < rows; ++i)
    for (long j = 0; j < columns; ++j) out[j * rows + i] = x[i * columns + j];
//% endif
//% endif
}
