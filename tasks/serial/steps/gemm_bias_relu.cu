//: base = thread-per-element | | The products are independent. | Three launches: product, bias, activation
//: fused = fused-epilogue | | The result is written and read twice more. | Bias and activation where the product is still in a register
//: tile = shared-memory-tiling | | Each element of both factors is read a thousand times. | Tiles of 32 x 32 in shared memory
//: pair = register-blocking | tile | Two loads from shared memory for each product. | Four rows a thread, held in registers
/* kernelwright
[constants]
M = "in0.shape[0]"
N = "in1.shape[1]"
K = "in0.shape[1]"

[[launch]]
kernel = "gemm"
grid = ["ceil_div(N, 32)", "ceil_div(M, 32)"]
block = ${'[32, 8]' if pair else '[32, 32]'}
arguments = ["in0", "in1", "in2", "out0"]
//% if not fused

[[launch]]
kernel = "add_bias"
grid = "ceil_div(M * N, 256)"
block = 256
arguments = ["in2", "out0"]

[[launch]]
kernel = "relu"
grid = "ceil_div(M * N, 256)"
block = 256
arguments = ["out0"]
//% endif
*/
__global__ void gemm(const float* a, const float* b, const float* bias, float* c) {
    const int column = blockIdx.x * 32 + threadIdx.x, first = blockIdx.y * 32;
//% if pair
    const int rows = 4, step = 8;
//% else
    const int rows = 1, step = 32;
//% endif
    float sums[rows] = {};
//% if tile
    __shared__ float left[32][32], right[32][32];
    for (int start = 0; start < K; start += 32) {
        for (int r = 0; r < rows; ++r) {
            const int y = threadIdx.y + r * step;
            left[y][threadIdx.x] = first + y < M && start + threadIdx.x < K ? a[(first + y) * K + start + threadIdx.x] : 0.0f;
            right[y][threadIdx.x] = start + y < K && column < N ? b[(start + y) * N + column] : 0.0f;
        }
        __syncthreads();
        for (int k = 0; k < 32; ++k)
#pragma unroll
            for (int r = 0; r < rows; ++r) sums[r] += left[threadIdx.y + r * step][k] * right[k][threadIdx.x];
        __syncthreads();
    }
//% else
    if (first + threadIdx.y < M && column < N)
        for (int k = 0; k < K; ++k) sums[0] += a[(first + threadIdx.y) * K + k] * b[k * N + column];
//% endif
    for (int r = 0; r < rows; ++r) {
        const int row = first + threadIdx.y + r * step;
//% if fused
        if (row < M && column < N) c[row * N + column] = fmaxf(sums[r] + bias[column], 0.0f);
//% else
        if (row < M && column < N) c[row * N + column] = sums[r];
//% endif
    }
}
//% if not fused

__global__ void add_bias(const float* bias, float* c) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < M * N) c[i] += bias[i % N];
}

__global__ void relu(float* c) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < M * N) c[i] = fmaxf(c[i], 0.0f);
}
//% endif
