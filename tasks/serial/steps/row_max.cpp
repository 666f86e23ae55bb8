//: base = function-with-constants | | The sizes are known, so the loop's end is too. | Sizes become constants
//: threads = threads-over-rows | | One core of several works. | An equal share of the rows for each core
//: simd = simd-reduction | | Each comparison waits for the one before it. | omp simd reduction(max) compares eight side by side
extern "C" void kernel(const float* x, float* out) {
  constexpr long rows = ${rows};
  constexpr long columns = ${columns};
//% if threads
#pragma omp parallel for schedule(static)
//% endif
  for (long i = 0; i < rows; ++i) {
    float most = x[i * columns];
//% if simd
#pragma omp simd reduction(max : most)
//% endif
    for (long j = 1; j < columns; ++j) most = x[i * columns + j] > most ? x[i * columns + j] : most;
    out[i] = most;
  }
}
