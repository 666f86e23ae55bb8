/* kernelwright
[constants]
COLUMNS = "in0.shape[1]"

[[launch]]
kernel = "softmax"
grid = "in0.shape[0]"
block = 512
arguments = ["in0", "out0"]
*/
#include <cmath>
#define THREADS 512
#define EACH (COLUMNS / THREADS)
static_assert(COLUMNS % THREADS == 0, "the same for each thread");

__device__ float combined(float value, bool largest) {
    __shared__ float parts[THREADS];
    parts[threadIdx.x] = value;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            const float other = parts[threadIdx.x + half];
            parts[threadIdx.x] = largest ? fmaxf(parts[threadIdx.x], other) : parts[threadIdx.x] + other;
        }
        __syncthreads();
    }
    const float result = parts[0];
    __syncthreads();
    return result;
}

__global__ void softmax(const float* __restrict__ x, float* __restrict__ out) {
    const long long row = blockIdx.x * (long long)COLUMNS + threadIdx.x;
    float values[EACH], top = -INFINITY, sum = 0.0f;
#pragma unroll
    for (int i = 0; i < EACH; ++i) top = fmaxf(top, values[i] = x[row + i * THREADS]);
    top = combined(top, true);
#pragma unroll
    for (int i = 0; i < EACH; ++i) sum += values[i] = expf(values[i] - top);
    const float scale = 1.0f / combined(sum, false);
#pragma unroll
    for (int i = 0; i < EACH; ++i) out[row + i * THREADS] = values[i] * scale;
}
