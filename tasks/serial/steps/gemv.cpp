//: base = function-with-constants | | The sizes are known, so the loops' ends are too. | Sizes become constants
//: threads = threads-over-rows | | One core of several works. | An equal share of the rows for each core
//: simd = simd-reduction | | Additions of one sum wait for each other: order must be kept. | omp simd reduction
//: tile = register-tiling-cpu | | The vector is read once for every row. | Four rows at a time
extern "C" void kernel(const float* a, const float* x, float* out) {
  constexpr long rows = ${rows};
  constexpr long columns = ${columns};
//% if threads
#pragma omp parallel for schedule(static)
//% endif
//% if tile
  for (long i = 0; i < rows; i += 4) {
    const float* from = a + i * columns;
    float p = 0.0f, q = 0.0f, r = 0.0f, s = 0.0f;
//% if simd
#pragma omp simd reduction(+ : p, q, r, s)
//% endif
    for (long j = 0; j < columns; ++j) {
      p += from[j] * x[j];
      q += from[columns + j] * x[j];
      r += from[2 * columns + j] * x[j];
      s += from[3 * columns + j] * x[j];
    }
    out[i] = p;
    out[i + 1] = q;
    out[i + 2] = r;
    out[i + 3] = s;
  }
//% else
  for (long i = 0; i < rows; ++i) {
    float sum = 0.0f;
//% if simd
#pragma omp simd reduction(+ : sum)
//% endif
    for (long j = 0; j < columns; ++j) sum += a[i * columns + j] * x[j];
    out[i] = sum;
  }
//% endif
}
