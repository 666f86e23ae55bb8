//: base = function-with-constants | | The sizes are known, so the loop's end is too. | Sizes become constants
//: threads = threads-over-rows | | One core of several works. | An equal share for each core
//: restrict = restrict-pointers | | The compiler must assume that the result overlaps the inputs, and checks. | __restrict__
//: stream = streaming-stores | | The result is larger than the caches: each store first reads its line. | #pragma omp simd nontemporal
extern "C" void kernel(
//% if restrict
    const float* __restrict__ x, float* __restrict__ out
//% else
    const float* x, float* out
//% endif
) {
  constexpr long n = ${n};
//% if threads and stream
#pragma omp parallel for simd nontemporal(out) schedule(static)
//% elif threads
#pragma omp parallel for schedule(static)
//% elif stream
#pragma omp simd nontemporal(out)
//% endif
  for (long i = 0; i < n; ++i) out[i] = x[n - 1 - i];
}
