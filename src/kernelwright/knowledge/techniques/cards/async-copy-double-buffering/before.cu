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
#define DEPTH 16

__global__ void product(const float* a, const float* b, float* out) {
    __shared__ float left[64][DEPTH + 1], right[DEPTH][64];
    const int down = blockIdx.y * 64, across = blockIdx.x * 64, row = threadIdx.x / 16, column = threadIdx.x % 16;
    float sums[4][4] = {};
    for (int start = 0; start < INNER; start += DEPTH) {
        for (int i = threadIdx.x; i < 64 * DEPTH; i += 256) {
            left[i / DEPTH][i % DEPTH] = a[(down + i / DEPTH) * INNER + start + i % DEPTH];
            right[i / 64][i % 64] = b[(start + i / 64) * COLUMNS + across + i % 64];
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < DEPTH; ++k)
#pragma unroll
            for (int i = 0; i < 4; ++i)
#pragma unroll
                for (int j = 0; j < 4; ++j) sums[i][j] += left[row + 16 * i][k] * right[k][column + 16 * j];
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) out[(down + row + 16 * i) * COLUMNS + across + column + 16 * j] = sums[i][j];
}
