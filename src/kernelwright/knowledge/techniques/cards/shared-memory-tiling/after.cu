/* kernelwright
[constants]
ROWS = "in0.shape[0]"
COLUMNS = "in1.shape[1]"
INNER = "in0.shape[1]"

[[launch]]
kernel = "product"
grid = ["ceil_div(COLUMNS, 32)", "ceil_div(ROWS, 32)"]
block = [32, 32]
arguments = ["in0", "in1", "out0"]
*/
__global__ void product(const float* a, const float* b, float* out) {
    __shared__ float left[32][32], right[32][32];
    const int row = blockIdx.y * 32 + threadIdx.y, column = blockIdx.x * 32 + threadIdx.x;
    float sum = 0.0f;
    for (int start = 0; start < INNER; start += 32) {
        const int across = start + threadIdx.x, down = start + threadIdx.y;
        left[threadIdx.y][threadIdx.x] = row < ROWS && across < INNER ? a[row * INNER + across] : 0.0f;
        right[threadIdx.y][threadIdx.x] = column < COLUMNS && down < INNER ? b[down * COLUMNS + column] : 0.0f;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 32; ++k) sum += left[threadIdx.y][k] * right[k][threadIdx.x];
        __syncthreads();
    }
    if (row < ROWS && column < COLUMNS) out[row * COLUMNS + column] = sum;
}
