//: base = thread-per-element | | The products are independent. | A thread for each, neighbours down a column
//: coalesced = coalesced-access | | Neighbouring threads read whole rows apart. | Neighbours along a row
//: tile = shared-memory-tiling | coalesced | Each element of both factors is read a thousand times. | Tiles of 32 x 32 in shared memory
//: reg = register-blocking | tile | Two loads from shared memory for each product. | Four rows a thread, held in registers
//: unroll = loop-unrolling | | The loop's own instructions are half of it. | #pragma unroll
/* kernelwright
[constants]
M = "in0.shape[0]"
N = "in1.shape[1]"
K = "in0.shape[1]"

[[launch]]
kernel = "gemm"
grid = ["ceil_div(N, ${32 if coalesced else 8})", "ceil_div(M, 32)"]
block = ${'[32, 8]' if reg else '[32, 32]' if tile else '[32, 8]' if coalesced else '[32, 8]'}
arguments = ["in0", "in1", "out0"]
*/
__global__ void gemm(const float* a, const float* b, float* c) {
//% if tile
    __shared__ float left[32][32], right[32][32];
    const int column = blockIdx.x * 32 + threadIdx.x, first = blockIdx.y * 32;
//% if reg
    const int rows = 4, step = 8;
//% else
    const int rows = 1, step = 32;
//% endif
    float sums[rows] = {};
    for (int start = 0; start < K; start += 32) {
        for (int r = 0; r < rows; ++r) {
            const int y = threadIdx.y + r * step;
            left[y][threadIdx.x] = first + y < M && start + threadIdx.x < K ? a[(first + y) * K + start + threadIdx.x] : 0.0f;
            right[y][threadIdx.x] = start + y < K && column < N ? b[(start + y) * N + column] : 0.0f;
        }
        __syncthreads();
//% if unroll
#pragma unroll
//% else
#pragma unroll 1
//% endif
        for (int k = 0; k < 32; ++k)
#pragma unroll
            for (int r = 0; r < rows; ++r) sums[r] += left[threadIdx.y + r * step][k] * right[k][threadIdx.x];
        __syncthreads();
    }
    for (int r = 0; r < rows; ++r) {
        const int row = first + threadIdx.y + r * step;
        if (row < M && column < N) c[row * N + column] = sums[r];
    }
//% else
//% if coalesced
    const int column = blockIdx.x * 32 + threadIdx.x, first = blockIdx.y * 32 + threadIdx.y, end = blockIdx.y * 32 + 32;
//% else
    const int column = blockIdx.x * 8 + threadIdx.y, first = blockIdx.y * 32 + threadIdx.x, end = first + 1;
//% endif
    if (column >= N) return;
    for (int row = first; row < end && row < M; row += 8) {
        float sum = 0.0f;
//% if unroll
#pragma unroll 8
//% else
#pragma unroll 1
//% endif
        for (int k = 0; k < K; ++k) sum += a[row * K + k] * b[k * N + column];
        c[row * N + column] = sum;
    }
//% endif
}
