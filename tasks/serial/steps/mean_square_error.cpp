//: base = function-with-constants | | The sizes are known, so the loop's end is too. | Sizes become constants
//: threads = privatised-partials | | One core of several works, and a shared sum would be fought over. | Each core has a sum of its own
//: simd = simd-reduction | | Additions of one sum wait for each other: order must be kept. | omp simd reduction lets eight run side by side
//: single = reduced-precision-sum | simd | Each term is widened to double. | Sum blocks of 4096 in single precision, and the blocks in double
extern "C" void kernel(const float* x, const float* y, float* out) {
  constexpr long n = ${n};
  double sum = 0.0;
//% if threads
#pragma omp parallel for reduction(+ : sum) schedule(static)
//% endif
  for (long begin = 0; begin < n; begin += 4096) {
//% if single
    float part = 0.0f;
//% else
    double part = 0.0;
//% endif
//% if simd
#pragma omp simd reduction(+ : part)
//% endif
//% if single
    for (long i = begin; i < begin + 4096; ++i) part += (x[i] - y[i]) * (x[i] - y[i]);
//% else
    for (long i = begin; i < begin + 4096; ++i) part += (static_cast<double>(x[i]) - y[i]) * (static_cast<double>(x[i]) - y[i]);
//% endif
    sum += part;
  }
  out[0] = static_cast<float>(sum / n);
}
