/* kernelwright
[constants]
COLUMNS = "in1.shape[1]"
INNER = "in0.shape[1]"

[[launch]]
kernel = "product"
grid = ["COLUMNS // 64", "in0.shape[0] // 64"]
block = 256
arguments = ["in0", "in1", "out0"]
*/
#include <cuda_pipeline_primitives.h>
#define DEPTH 16

__global__ void product(const float* a, const float* b, float* out) {
    __shared__ float left[2][64][DEPTH + 1], right[2][DEPTH][64];
    const int down = blockIdx.y * 64, across = blockIdx.x * 64, row = threadIdx.x / 16, column = threadIdx.x % 16;
    const auto fetch = [&](int start, int buffer) {
        for (int i = threadIdx.x; i < 64 * DEPTH; i += 256) {
            const float* from_left = a + (down + i / DEPTH) * INNER + start + i % DEPTH;
            const float* from_right = b + (start + i / 64) * COLUMNS + across + i % 64;
            __pipeline_memcpy_async(&left[buffer][i / DEPTH][i % DEPTH], from_left, sizeof(float));
            __pipeline_memcpy_async(&right[buffer][i / 64][i % 64], from_right, sizeof(float));
        }
        __pipeline_commit();
    };
    float sums[4][4] = {};
    fetch(0, 0);
    for (int start = 0, buffer = 0; start < INNER; start += DEPTH, buffer ^= 1) {
        __pipeline_wait_prior(0);
        __syncthreads();
        if (start + DEPTH < INNER) fetch(start + DEPTH, buffer ^ 1);
#pragma unroll
        for (int k = 0; k < DEPTH; ++k)
#pragma unroll
            for (int i = 0; i < 4; ++i)
#pragma unroll
                for (int j = 0; j < 4; ++j)
                    sums[i][j] += left[buffer][row + 16 * i][k] * right[buffer][k][column + 16 * j];
    }
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) out[(down + row + 16 * i) * COLUMNS + across + column + 16 * j] = sums[i][j];
}
