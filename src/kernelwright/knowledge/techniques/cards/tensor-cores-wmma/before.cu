/* kernelwright
[constants]
COLUMNS = "in1.shape[1]"
INNER = "in0.shape[1]"

[[launch]]
kernel = "product"
grid = ["COLUMNS // 32", "in0.shape[0] // 32"]
block = [32, 32]
arguments = ["in0", "in1", "out0"]
*/
#include <cuda_fp16.h>

__global__ void product(const half* a, const half* b, half* out) {
    __shared__ half left[32][32], right[32][32];
    const int row = blockIdx.y * 32 + threadIdx.y, column = blockIdx.x * 32 + threadIdx.x;
    float sum = 0.0f;
    for (int start = 0; start < INNER; start += 32) {
        left[threadIdx.y][threadIdx.x] = a[row * INNER + start + threadIdx.x];
        right[threadIdx.y][threadIdx.x] = b[(start + threadIdx.y) * COLUMNS + column];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 32; ++k) sum += __half2float(left[threadIdx.y][k]) * __half2float(right[k][threadIdx.x]);
        __syncthreads();
    }
    out[row * COLUMNS + column] = __float2half(sum);
}
