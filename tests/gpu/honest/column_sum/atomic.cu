/* kernelwright
zeroed_outputs = [0]

[constants]
ROWS = "in0.shape[0]"
COLUMNS = "in0.shape[1]"

[[launch]]
kernel = "kernel"
grid = ["ceil_div(in0.shape[1], 256)", "ceil_div(in0.shape[0], 64)"]
block = 256
arguments = ["in0", "out0"]
*/
extern "C" __global__ void kernel(const float* x, float* out) {
    const int column = blockIdx.x * 256 + threadIdx.x;
    if (column >= COLUMNS) return;
    float sum = 0.0f;
    for (int row = blockIdx.y * 64; row < min(ROWS, blockIdx.y * 64 + 64); ++row)
        sum += x[row * (long long)COLUMNS + column];
    atomicAdd(out + column, sum);
}
