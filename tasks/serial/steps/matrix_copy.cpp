//: base = function-with-constants | | The sizes are known, so the loop's end is too. | Sizes become constants
//: order = loop-interchange | | Columns are walked down, and each element is on a line of its own. | Rows outside, columns inside
//: threads = threads-over-rows | order | One core of several works. | An equal share of the rows for each core
//: stream = streaming-stores | order | The result is larger than the caches: each store first reads its line. | #pragma omp simd nontemporal
extern "C" void kernel(const float* x, float* out) {
  constexpr long rows = ${rows};
  constexpr long columns = ${columns};
//% if threads
#pragma omp parallel for schedule(static)
//% endif
//% if order
  for (long i = 0; i < rows; ++i)
//% else
  for (long j = 0; j < columns; ++j)
//% endif
//% if stream
#pragma omp simd nontemporal(out)
//% endif
//% if order
    for (long j = 0; j < columns; ++j)
//% else
    for (long i = 0; i < rows; ++i)
//% endif
      out[i * columns + j] = x[i * columns + j];
}
