//: base = thread-per-element | | The iterations are independent, so each can be a thread's. | A thread takes sixteen neighbours, as the loop does
//: coalesced = coalesced-access | | A warp's threads read words 64 bytes apart: sixteen times the sectors. | Neighbouring threads take neighbouring elements
//: vec = vectorised-loads | coalesced | Four bytes a load keep the load units busier than memory. | float4 where the pointers allow it
//: wide = block-size | | Blocks of one warp: the limit of resident blocks leaves half of the warps unused. | Blocks of 256 threads
//: hints = streaming-stores | coalesced | Nothing is read twice, so that the caches only evict what others need. | __ldcs and __stcs
/* kernelwright
[constants]
THREADS = "${256 if wide else 32}"

[[launch]]
kernel = "saxpy"
//% if vec
grid = "ceil_div(in0.numel, THREADS * 4)"
//% elif coalesced
grid = "ceil_div(in0.numel, THREADS)"
//% else
grid = "ceil_div(in0.numel, THREADS * 16)"
//% endif
block = "THREADS"
arguments = ["in0", "in1", "out0", "i64(in0.numel)"]
*/
__device__ float get(const float* p) {
//% if hints
    return __ldcs(p);
//% else
    return *p;
//% endif
}

__device__ void put(float* p, float value) {
//% if hints
    __stcs(p, value);
//% else
    *p = value;
//% endif
}

__global__ void saxpy(const float* x, const float* y, float* out, long long n) {
    const long long t = blockIdx.x * (long long)THREADS + threadIdx.x;
//% if vec
    const long long i = t * 4;
    const bool aligned = ((unsigned long long)x | (unsigned long long)y | (unsigned long long)out) % 16 == 0;
    if (aligned && i + 4 <= n) {
        const float4 a = *(const float4*)(x + i), b = *(const float4*)(y + i);
        *(float4*)(out + i) = make_float4(2.5f * a.x + b.x, 2.5f * a.y + b.y, 2.5f * a.z + b.z, 2.5f * a.w + b.w);
        return;
    }
    for (long long j = i; j < i + 4 && j < n; ++j) put(out + j, 2.5f * get(x + j) + get(y + j));
//% elif coalesced
    if (t < n) put(out + t, 2.5f * get(x + t) + get(y + t));
//% else
    for (long long j = t * 16; j < t * 16 + 16 && j < n; ++j) put(out + j, 2.5f * get(x + j) + get(y + j));
//% endif
}
