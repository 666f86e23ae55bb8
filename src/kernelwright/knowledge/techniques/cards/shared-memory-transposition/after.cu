/* kernelwright
[constants]
ROWS = "in0.shape[0]"
COLUMNS = "in0.shape[1]"

[[launch]]
kernel = "transposed"
grid = ["ceil_div(COLUMNS, 32)", "ceil_div(ROWS, 32)"]
block = [32, 8]
arguments = ["in0", "in1", "out0"]
*/
__global__ void transposed(const float* x, const float* y, float* out) {
    __shared__ float tile[32][33];
    const int across = blockIdx.x * 32, down = blockIdx.y * 32;
    for (int i = threadIdx.y; i < 32; i += 8) {
        const int row = down + i, column = across + threadIdx.x;
        const long long at = row * (long long)COLUMNS + column;
        if (row < ROWS && column < COLUMNS) tile[i][threadIdx.x] = x[at] + y[at];
    }
    __syncthreads();
    for (int i = threadIdx.y; i < 32; i += 8) {
        const int row = down + threadIdx.x, column = across + i;
        if (row < ROWS && column < COLUMNS) out[column * (long long)ROWS + row] = tile[threadIdx.x][i];
    }
}
