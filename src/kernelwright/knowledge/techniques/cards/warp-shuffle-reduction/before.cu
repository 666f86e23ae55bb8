/* kernelwright
[constants]
COLUMNS = "in0.shape[1]"

[[launch]]
kernel = "squares"
grid = "in0.shape[0]"
block = 256
arguments = ["in0", "out0"]
*/
__global__ void squares(const float* x, float* out) {
    __shared__ float parts[256];
    float sum = 0.0f;
    for (int i = threadIdx.x; i < COLUMNS; i += 256) {
        const float value = x[blockIdx.x * (long long)COLUMNS + i];
        sum += value * value;
    }
    parts[threadIdx.x] = sum;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = parts[0];
}
