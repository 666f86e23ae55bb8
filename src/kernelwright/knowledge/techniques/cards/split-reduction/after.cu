/* kernelwright
[constants]
PARTS = "min(ceil_div(in0.numel, 1024), 4 * multiprocessors)"

[[workspace]]
bytes = "4 * PARTS"

[[launch]]
kernel = "partial_sums"
grid = "PARTS"
block = 512
arguments = ["in0", "in1", "work0", "i64(in0.numel)"]

[[launch]]
kernel = "mean_of_parts"
grid = 1
block = 512
arguments = ["work0", "out0", "i64(in0.numel)"]
*/
__device__ float block_sum(float value) {
    __shared__ float parts[512];
    parts[threadIdx.x] = value;
    __syncthreads();
    for (int half = 256; half > 0; half /= 2) {
        if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
        __syncthreads();
    }
    return parts[0];
}

__global__ void partial_sums(const float* x, const float* y, float* work, long long count) {
    float sum = 0.0f;
    for (long long i = blockIdx.x * 512LL + threadIdx.x; i < count; i += 512LL * PARTS)
        sum += (x[i] - y[i]) * (x[i] - y[i]);
    sum = block_sum(sum);
    if (threadIdx.x == 0) work[blockIdx.x] = sum;
}

__global__ void mean_of_parts(const float* work, float* out, long long count) {
    float sum = 0.0f;
    for (int i = threadIdx.x; i < PARTS; i += 512) sum += work[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0) *out = sum / count;
}
