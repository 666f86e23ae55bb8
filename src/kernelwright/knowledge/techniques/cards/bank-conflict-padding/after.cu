/* kernelwright
[constants]
ROWS = "in0.shape[0]"
COLUMNS = "in0.shape[1]"

[[launch]]
kernel = "transposed"
grid = ["COLUMNS // 32", "ROWS // 32"]
block = [32, 8]
arguments = ["in0", "out0"]
*/
static_assert(ROWS % 32 == 0 && COLUMNS % 32 == 0, "whole tiles");

__global__ void transposed(const float* x, float* out) {
    __shared__ float tile[32][32 + 1];
    const int across = blockIdx.x * 32, down = blockIdx.y * 32;
    for (int i = threadIdx.y; i < 32; i += 8)
        tile[i][threadIdx.x] = x[(down + i) * (long long)COLUMNS + across + threadIdx.x];
    __syncthreads();
    for (int i = threadIdx.y; i < 32; i += 8)
        out[(across + i) * (long long)ROWS + down + threadIdx.x] = 2.0f * tile[threadIdx.x][i];
}
