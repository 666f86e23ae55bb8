/* kernelwright
[constants]
ROWS = "in0.shape[0]"
COLUMNS = "in0.shape[1]"

[[launch]]
kernel = "row_sums"
grid = "ceil_div(ROWS, 128)"
block = 128
arguments = ["in0", "out0"]
*/
__global__ void row_sums(const float* x, float* out) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= ROWS) return;
    float sum = 0.0f;
    for (int i = 0; i < COLUMNS; ++i) sum += x[row * (long long)COLUMNS + i];
    out[row] = sum;
}
