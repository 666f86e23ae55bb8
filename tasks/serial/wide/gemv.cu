//: base = thread-per-row | | The rows are independent. | A thread for each row
//: warp = warp-per-row | | Neighbouring threads read whole rows apart. | A warp for each row, its lanes side by side, and a sum by shuffles
//: vec = vectorised-loads | warp | Four bytes a load keep the load units busier than memory. | float4 where the pointers allow it
//: twice = register-blocking | warp | Each word of the vector that is read serves one row. | Two rows for each warp
//: acc = independent-accumulators | !vec | Each product waits for the sum before it. | Two sums side by side
//: shared = shared-memory-tiling | | Every row reads the vector again. | The block copies the vector to shared memory once
//: small = block-size | | A block of 256 threads ends with its slowest warp. | Sixty-four threads
//: hints = eviction-hints | | The matrix is read once and pushes the vector out of the cache. | __ldcs
//: unroll = loop-unrolling | | A turn of the loop asks for little at a time. | #pragma unroll 8
/* kernelwright
[constants]
COLUMNS = "in0.shape[1]"
ROWS = "in0.shape[0]"
B = "${64 if small else 256}"
OWN = "${2 if twice else 1}"

[[launch]]
kernel = "gemv"
grid = "${'ceil_div(ROWS * 32, B * OWN)' if warp else 'ceil_div(ROWS, B)'}"
block = ${64 if small else 256}
arguments = ["in0", "in1", "out0"]
*/
__device__ float once(const float* p) {
//% if hints
    return __ldcs(p);
//% else
    return *p;
//% endif
}

__device__ float4 once4(const float* p) {
//% if hints
    return __ldcs((const float4*)p);
//% else
    return *(const float4*)p;
//% endif
}

__global__ void gemv(const float* a, const float* vector, float* out) {
//% if shared
    __shared__ __align__(16) float x[COLUMNS];
    for (int j = threadIdx.x; j < COLUMNS; j += B) x[j] = vector[j];
    __syncthreads();
//% else
    const float* x = vector;
//% endif
//% if warp
    const int row = (blockIdx.x * (B / 32) + threadIdx.x / 32) * OWN, first = threadIdx.x % 32, step = 32;
//% else
    const int row = blockIdx.x * B + threadIdx.x, first = 0, step = 1;
//% endif
    if (row >= ROWS) return;
    const float* from = a + row * (long long)COLUMNS;
    const int next = row + 1 < ROWS ? COLUMNS : 0;
    float sum[2] = {};
    int j = first;
//% if vec
    if (((unsigned long long)from | (unsigned long long)x) % 16 == 0 && COLUMNS % 4 == 0) {
//% if unroll
#pragma unroll 8
//% else
#pragma unroll 1
//% endif
        for (j = first * 4; j < COLUMNS; j += step * 4) {
            const float4 r = *(const float4*)(x + j);
#pragma unroll
            for (int o = 0; o < OWN; ++o) {
                const float4 l = once4(from + o * next + j);
                sum[o] += l.x * r.x + l.y * r.y + l.z * r.z + l.w * r.w;
            }
        }
    }
//% endif
//% if acc
    float other[2] = {};
//% if unroll
#pragma unroll 4
//% else
#pragma unroll 1
//% endif
    for (; j + step < COLUMNS; j += 2 * step)
#pragma unroll
        for (int o = 0; o < OWN; ++o) {
            sum[o] += once(from + o * next + j) * x[j];
            other[o] += once(from + o * next + j + step) * x[j + step];
        }
    for (int o = 0; o < OWN; ++o) sum[o] += other[o];
//% endif
//% if unroll
#pragma unroll 8
//% else
#pragma unroll 1
//% endif
    for (; j < COLUMNS; j += step)
#pragma unroll
        for (int o = 0; o < OWN; ++o) sum[o] += once(from + o * next + j) * x[j];
#pragma unroll
    for (int o = 0; o < OWN; ++o) {
//% if warp
        for (int k = 16; k > 0; k /= 2) sum[o] += __shfl_down_sync(0xffffffff, sum[o], k);
//% endif
        if (first == 0 && row + o < ROWS) out[row + o] = sum[o];
    }
}
