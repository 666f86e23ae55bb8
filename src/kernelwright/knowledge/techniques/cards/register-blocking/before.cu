/* kernelwright
[constants]
ROWS = "in0.shape[0]"
COLUMNS = "in1.shape[1]"
INNER = "in0.shape[1]"

[[launch]]
kernel = "product"
grid = ["COLUMNS // 32", "ROWS // 32"]
block = [32, 32]
arguments = ["in0", "in1", "out0"]
*/
static_assert(ROWS % 32 == 0 && COLUMNS % 32 == 0 && INNER % 32 == 0, "whole tiles");

__global__ void product(const float* a, const float* b, float* out) {
    __shared__ float left[32][32], right[32][32];
    const int row = blockIdx.y * 32 + threadIdx.y, column = blockIdx.x * 32 + threadIdx.x;
    float sum = 0.0f;
    for (int start = 0; start < INNER; start += 32) {
        left[threadIdx.y][threadIdx.x] = a[row * INNER + start + threadIdx.x];
        right[threadIdx.y][threadIdx.x] = b[(start + threadIdx.y) * COLUMNS + column];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 32; ++k) sum += left[threadIdx.y][k] * right[k][threadIdx.x];
        __syncthreads();
    }
    out[row * COLUMNS + column] = sum;
}
