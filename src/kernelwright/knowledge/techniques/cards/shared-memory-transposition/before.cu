/* kernelwright
[constants]
ROWS = "in0.shape[0]"
COLUMNS = "in0.shape[1]"

[[launch]]
kernel = "transposed"
grid = ["ceil_div(COLUMNS, 32)", "ceil_div(ROWS, 8)"]
block = [32, 8]
arguments = ["in0", "in1", "out0"]
*/
__global__ void transposed(const float* x, const float* y, float* out) {
    const int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
    if (row >= ROWS || column >= COLUMNS) return;
    const long long i = row * (long long)COLUMNS + column;
    out[column * (long long)ROWS + row] = x[i] + y[i];
}
