/* kernelwright
[constants]
ROWS = "in0.shape[0]"
COLUMNS = "in1.shape[1]"
INNER = "in0.shape[1]"

[[launch]]
kernel = "product"
grid = ["ceil_div(COLUMNS, 32)", "ceil_div(ROWS, 32)"]
block = [32, 32]
arguments = ["in0", "in1", "out0"]
*/
__global__ void product(const float* a, const float* b, float* out) {
    const int row = blockIdx.y * 32 + threadIdx.y, column = blockIdx.x * 32 + threadIdx.x;
    if (row >= ROWS || column >= COLUMNS) return;
    float sum = 0.0f;
    for (int k = 0; k < INNER; ++k) sum += a[row * INNER + k] * b[k * COLUMNS + column];
    out[row * COLUMNS + column] = sum;
}
