/* kernelwright
[constants]
ROWS = "in0.shape[0]"
COLUMNS = "in0.shape[1]"

[[launch]]
kernel = "row_sums"
grid = "ceil_div(ROWS, 4)"
block = [32, 4]
arguments = ["in0", "out0"]
*/
__global__ void row_sums(const float* x, float* out) {
    const int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= ROWS) return;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < COLUMNS; i += 32) sum += x[row * (long long)COLUMNS + i];
    for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step);
    if (threadIdx.x == 0) out[row] = sum;
}
