//: base = thread-per-row | | The rows are independent. | A thread for each row
//: warp = warp-per-row | | Neighbouring threads read whole rows apart. | A warp for each row, and a sum by shuffles
//: cached = read-only-cache | | The vector is read at random, again and again. | __ldg, past the coherent path
//: hints = streaming-stores | | Values and indices are read once, and push the vector out of the cache. | __ldcs
//: unroll = loop-unrolling | !warp | Each load waits for the one before it. | Eight iterations at a time
/* kernelwright
[constants]
WIDTH = "in0.shape[1]"
ROWS = "in0.shape[0]"

[[launch]]
kernel = "spmv"
grid = "ceil_div(ROWS, ${8 if warp else 256})"
block = 256
arguments = ["in0", "in1", "in2", "out0"]
*/
__device__ float value(const float* p) {
//% if hints
    return __ldcs(p);
//% else
    return *p;
//% endif
}

__device__ int place(const int* p) {
//% if hints
    return __ldcs(p);
//% else
    return *p;
//% endif
}

__global__ void spmv(const float* values, const int* indices, const float* x, float* out) {
//% if warp
    const int row = blockIdx.x * 8 + threadIdx.x / 32, first = threadIdx.x % 32, step = 32;
//% else
    const int row = blockIdx.x * 256 + threadIdx.x, first = 0, step = 1;
//% endif
    if (row >= ROWS) return;
    float sum = 0.0f;
//% if unroll
#pragma unroll 8
//% else
#pragma unroll 1
//% endif
    for (int j = first; j < WIDTH; j += step) {
        const long long at = row * (long long)WIDTH + j;
//% if cached
        sum += value(values + at) * __ldg(x + place(indices + at));
//% else
        sum += value(values + at) * x[place(indices + at)];
//% endif
    }
//% if warp
    for (int k = 16; k > 0; k /= 2) sum += __shfl_down_sync(0xffffffff, sum, k);
    if (first > 0) return;
//% endif
    out[row] = sum;
}
