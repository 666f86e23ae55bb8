//: base = function-with-constants | | The sizes are known, so the loops' ends are too. | Sizes become constants
//: threads = threads-over-rows | | One core of several works. | An equal share of the rows for each core
//: prefetch = software-prefetch | | The vector is read at random, and the hardware cannot guess where. | Ask for the entries of a row ahead
extern "C" void kernel(const float* values, const int* indices, const float* x, float* out) {
  constexpr long rows = ${rows};
  constexpr long width = ${width};
//% if threads
#pragma omp parallel for schedule(static)
//% endif
  for (long i = 0; i < rows; ++i) {
    float sum = 0.0f;
//% if prefetch
    if (i + 8 < rows)
      for (long j = 0; j < width; ++j) __builtin_prefetch(x + indices[(i + 8) * width + j]);
//% endif
    for (long j = 0; j < width; ++j) sum += values[i * width + j] * x[indices[i * width + j]];
    out[i] = sum;
  }
}
