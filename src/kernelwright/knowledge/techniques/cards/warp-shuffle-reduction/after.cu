/* kernelwright
[constants]
COLUMNS = "in0.shape[1]"

[[launch]]
kernel = "squares"
grid = "in0.shape[0]"
block = 256
arguments = ["in0", "out0"]
*/
__device__ float warp_sum(float sum) {
    for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step);
    return sum;
}

__global__ void squares(const float* x, float* out) {
    __shared__ float parts[8];
    float sum = 0.0f;
    for (int i = threadIdx.x; i < COLUMNS; i += 256) {
        const float value = x[blockIdx.x * (long long)COLUMNS + i];
        sum += value * value;
    }
    sum = warp_sum(sum);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x >= 32) return;
    sum = warp_sum(threadIdx.x < 8 ? parts[threadIdx.x] : 0.0f);
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}
