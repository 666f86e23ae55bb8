/* kernelwright
[[launch]]
kernel = "mean_square"
grid = 1
block = 1024
arguments = ["in0", "in1", "out0", "i64(in0.numel)"]
*/
__global__ void mean_square(const float* x, const float* y, float* out, long long count) {
    __shared__ double parts[1024];
    double sum = 0.0;
    for (long long i = threadIdx.x; i < count; i += 1024) sum += (x[i] - y[i]) * (x[i] - y[i]);
    parts[threadIdx.x] = sum;
    __syncthreads();
    for (int half = 512; half > 0; half /= 2) {
        if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) *out = parts[0] / count;
}
