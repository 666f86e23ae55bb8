//: base = thread-per-element | | The options are independent, so each can be a thread's. | A thread takes eight neighbours
//: coalesced = coalesced-access | | A warp's threads read words 32 bytes apart. | Neighbouring threads take neighbouring options
//: fast = fast-intrinsics | | Logarithm, exponential and division take the exact, long way. | __logf, __expf, __fdividef
//: wide = block-size | | Blocks of one warp leave half of the warps unused. | Blocks of 256 threads
//: hints = streaming-stores | coalesced | Nothing is read twice. | __ldcs and __stcs
/* kernelwright
[constants]
THREADS = "${256 if wide else 32}"
EACH = "${1 if coalesced else 8}"

[[launch]]
kernel = "black_scholes"
grid = "ceil_div(in0.numel, THREADS * EACH)"
block = "THREADS"
arguments = ["in0", "in1", "in2", "out0", "i64(in0.numel)"]
*/
__device__ float normal(float d) { return 0.5f * erfcf(-d * 0.70710678f); }

__device__ float price(float s, float k, float t) {
    const float spread = 0.3f * sqrtf(t);
//% if fast
    const float d1 = __fdividef(__logf(__fdividef(s, k)) + 0.065f * t, spread);
    return s * normal(d1) - k * __expf(-0.02f * t) * normal(d1 - spread);
//% else
    const float d1 = (logf(s / k) + 0.065f * t) / spread;
    return s * normal(d1) - k * expf(-0.02f * t) * normal(d1 - spread);
//% endif
}

__global__ void black_scholes(const float* s, const float* k, const float* t, float* call, long long n) {
    const long long first = (blockIdx.x * (long long)THREADS + threadIdx.x) * EACH;
    for (long long i = first; i < first + EACH && i < n; ++i) {
//% if hints
        __stcs(call + i, price(__ldcs(s + i), __ldcs(k + i), __ldcs(t + i)));
//% else
        call[i] = price(s[i], k[i], t[i]);
//% endif
    }
}
