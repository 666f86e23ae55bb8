/* kernelwright
[constants]
ROWS = "in0.shape[0]"
COLUMNS = "in1.shape[1]"
INNER = "in0.shape[1]"

[[launch]]
kernel = "product"
grid = ["COLUMNS // 64", "ROWS // 64"]
block = 256
arguments = ["in0", "in1", "out0"]
*/
#define SIDE 64
#define DEPTH 16
static_assert(ROWS % SIDE == 0 && COLUMNS % SIDE == 0 && INNER % DEPTH == 0, "whole tiles");

__global__ void product(const float* a, const float* b, float* out) {
    // The left tile lies with its rows across, so that four neighbouring rows are neighbouring words.
    __shared__ __align__(16) float left[DEPTH][SIDE + 4], right[DEPTH][SIDE];
    const int down = blockIdx.y * SIDE, across = blockIdx.x * SIDE;
    const int row = threadIdx.x / 16 * 4, column = threadIdx.x % 16 * 4;
    float sums[4][4] = {};
    for (int start = 0; start < INNER; start += DEPTH) {
        for (int i = threadIdx.x; i < SIDE * DEPTH; i += 256) {
            left[i % DEPTH][i / DEPTH] = a[(down + i / DEPTH) * INNER + start + i % DEPTH];
            right[i / SIDE][i % SIDE] = b[(start + i / SIDE) * COLUMNS + across + i % SIDE];
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < DEPTH; ++k) {
            const float4 l = *reinterpret_cast<const float4*>(&left[k][row]);
            const float4 r = *reinterpret_cast<const float4*>(&right[k][column]);
            const float ls[4] = {l.x, l.y, l.z, l.w}, rs[4] = {r.x, r.y, r.z, r.w};
#pragma unroll
            for (int i = 0; i < 4; ++i)
#pragma unroll
                for (int j = 0; j < 4; ++j) sums[i][j] += ls[i] * rs[j];
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) out[(down + row + i) * COLUMNS + across + column + j] = sums[i][j];
}
