/* kernelwright
[constants]
ROWS = "in0.shape[0]"
COLUMNS = "in0.shape[1]"

[[launch]]
kernel = "kernel"
grid = ["in0.shape[1] // 32", "in0.shape[0] // 32"]
block = [32, 8]
arguments = ["in0", "out0"]
*/
extern "C" __global__ void kernel(const float* x, float* out) {
    __shared__ float tile[32][33];
    const int across = blockIdx.x * 32, down = blockIdx.y * 32;
    for (int i = threadIdx.y; i < 32; i += 8) tile[i][threadIdx.x] = x[(down + i) * COLUMNS + across + threadIdx.x];
    __syncthreads();
    for (int i = threadIdx.y; i < 32; i += 8)
        out[(across + i) * ROWS + down + threadIdx.x] = 2.0f * tile[threadIdx.x][i];
}
