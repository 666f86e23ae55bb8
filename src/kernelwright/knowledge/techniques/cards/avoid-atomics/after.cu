/* kernelwright
zeroed_outputs = [0]

[constants]
COLUMNS = "in0.shape[1]"

[[launch]]
kernel = "magnitudes"
grid = ["ceil_div(COLUMNS, 256)", "in0.shape[0]"]
block = 256
arguments = ["in0", "out0"]
*/
__global__ void magnitudes(const float* x, float* out) {
    __shared__ float parts[8];
    const int i = blockIdx.x * 256 + threadIdx.x;
    float sum = i < COLUMNS ? fabsf(x[blockIdx.y * (long long)COLUMNS + i]) : 0.0f;
    for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x > 0) return;
    for (int warp = 1; warp < 8; ++warp) sum += parts[warp];
    atomicAdd(out + blockIdx.y, sum);
}
