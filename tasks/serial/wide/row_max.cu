//: base = thread-per-row | | The rows are independent. | A thread for each row
//: block = block-per-row | | Neighbouring threads read whole rows apart, and there are few of them. | A block for each row, its threads side by side
//: warp = warp-shuffle-reduction | block | A tree in shared memory needs a barrier for every level. | Shuffles within warps, one barrier
//: vec = vectorised-loads | block | Four bytes a load keep the load units busier than memory. | float4 where the pointers allow it
//: acc = independent-accumulators | !vec | Each comparison waits for the one before it. | Two maxima side by side
//: small = block-size | | Most threads of a block have little to read. | Half as many threads
//: hints = eviction-hints | | Nothing is read twice. | __ldcs
//: unroll = loop-unrolling | | A turn of the loop asks for little at a time. | #pragma unroll 8
/* kernelwright
[constants]
COLUMNS = "in0.shape[1]"
ROWS = "in0.shape[0]"
B = "${(128 if small else 256) if block else (64 if small else 128)}"

[[launch]]
kernel = "row_max"
grid = "${'ROWS' if block else 'ceil_div(ROWS, B)'}"
block = ${(128 if small else 256) if block else (64 if small else 128)}
arguments = ["in0", "out0"]
*/
#define LEAST __int_as_float(0xff800000)

__device__ float once(const float* p) {
//% if hints
    return __ldcs(p);
//% else
    return *p;
//% endif
}

__global__ void row_max(const float* x, float* out) {
//% if block
    const int row = blockIdx.x, first = threadIdx.x, step = B;
//% else
    const int row = blockIdx.x * B + threadIdx.x, first = 0, step = 1;
    if (row >= ROWS) return;
//% endif
    const float* from = x + row * (long long)COLUMNS;
    float most = LEAST;
    int j = first;
//% if vec
    if ((unsigned long long)from % 16 == 0 && COLUMNS % 4 == 0) {
//% if unroll
#pragma unroll 4
//% else
#pragma unroll 1
//% endif
        for (j = first * 4; j < COLUMNS; j += step * 4) {
//% if hints
            const float4 v = __ldcs((const float4*)(from + j));
//% else
            const float4 v = *(const float4*)(from + j);
//% endif
            most = fmaxf(most, fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)));
        }
    }
//% endif
//% if acc
    float other = LEAST;
//% if unroll
#pragma unroll 4
//% else
#pragma unroll 1
//% endif
    for (; j + step < COLUMNS; j += 2 * step) {
        most = fmaxf(most, once(from + j));
        other = fmaxf(other, once(from + j + step));
    }
    most = fmaxf(most, other);
//% endif
//% if unroll
#pragma unroll 8
//% else
#pragma unroll 1
//% endif
    for (; j < COLUMNS; j += step) most = fmaxf(most, once(from + j));
//% if block
//% if warp
    __shared__ float meet[B / 32];
    for (int k = 16; k > 0; k /= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, k));
    if (threadIdx.x % 32 == 0) meet[threadIdx.x / 32] = most;
    __syncthreads();
    if (threadIdx.x > 0) return;
    for (int k = 1; k < B / 32; ++k) most = fmaxf(most, meet[k]);
//% else
    __shared__ float meet[B];
    meet[threadIdx.x] = most;
    for (int k = B / 2; k > 0; k /= 2) {
        __syncthreads();
        if (threadIdx.x < k) meet[threadIdx.x] = fmaxf(meet[threadIdx.x], meet[threadIdx.x + k]);
    }
    if (threadIdx.x > 0) return;
    most = meet[0];
//% endif
//% endif
    out[row] = most;
}
