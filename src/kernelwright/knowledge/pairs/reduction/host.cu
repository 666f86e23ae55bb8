#include <cuda_runtime.h>

constexpr int ROWS = 512, COLUMNS = 512, THREADS = 128;

__device__ float warp_sum(float sum) {
    for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step);
    return sum;
}

__global__ void lengths(const float* x, float* out) {
    __shared__ float parts[THREADS / 32];
    float sum = 0.0f;
    for (int i = threadIdx.x; i < COLUMNS; i += THREADS) {
        const float value = x[blockIdx.x * (long long)COLUMNS + i];
        sum += value * value;
    }
    sum = warp_sum(sum);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x >= 32) return;
    sum = warp_sum(threadIdx.x < THREADS / 32 ? parts[threadIdx.x] : 0.0f);
    if (threadIdx.x == 0) out[blockIdx.x] = sqrtf(sum);
}

extern "C" void kernel(const float* x, float* out, cudaStream_t stream) {
    lengths<<<ROWS, THREADS, 0, stream>>>(x, out);
}
