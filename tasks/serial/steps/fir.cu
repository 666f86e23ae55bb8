//: base = thread-per-element | | The samples are independent. | A thread takes eight neighbours
//: coalesced = coalesced-access | | A warp's threads read words 32 bytes apart. | Neighbouring threads take neighbouring samples
//: tile = shared-memory-tiling | coalesced | Every sample is read thirty-two times. | The block copies its samples to shared memory
//: shared = constant-operands-in-shared-memory | | Every thread reads every tap from memory. | The block copies the taps to shared memory
//: unroll = loop-unrolling | | The loop's own instructions are half of it. | #pragma unroll
/* kernelwright
[constants]
N = "out0.numel"
TAPS = "in1.numel"
EACH = "${1 if coalesced else 8}"

[[launch]]
kernel = "fir"
grid = "ceil_div(N, 256 * EACH)"
block = 256
arguments = ["in0", "in1", "out0"]
*/
__global__ void fir(const float* x, const float* given, float* out) {
//% if shared
    __shared__ float tap[TAPS];
    for (int k = threadIdx.x; k < TAPS; k += 256) tap[k] = given[k];
    __syncthreads();
//% else
    const float* tap = given;
//% endif
    const long long first = (blockIdx.x * 256LL + threadIdx.x) * EACH;
//% if tile
    __shared__ float near[256 + TAPS];
    for (int k = threadIdx.x; k < 256 + TAPS; k += 256)
        if (blockIdx.x * 256LL + k < N + TAPS) near[k] = x[blockIdx.x * 256LL + k];
    __syncthreads();
//% endif
    for (long long i = first; i < first + EACH && i < N; ++i) {
        float sum = 0.0f;
//% if unroll
#pragma unroll
//% else
#pragma unroll 1
//% endif
        for (int k = 0; k < TAPS; ++k) {
//% if tile
            sum += near[threadIdx.x + k] * tap[k];
//% else
            sum += x[i + k] * tap[k];
//% endif
        }
        out[i] = sum;
    }
}
