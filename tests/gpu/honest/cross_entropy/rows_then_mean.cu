/* kernelwright
[constants]
ROWS = "in0.shape[0]"
COLUMNS = "in0.shape[-1]"

[[workspace]]
bytes = "4 * ROWS"

[[launch]]
kernel = "losses"
grid = "in0.shape[0]"
block = 256
arguments = ["in0", "in1", "work0"]

[[launch]]
kernel = "finish"
grid = 1
block = 256
arguments = ["work0", "out0"]
*/
#include <cmath>

template <typename Combine>
__device__ float reduced(float value, Combine combine) {
    __shared__ float scratch[256];
    scratch[threadIdx.x] = value;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) scratch[threadIdx.x] = combine(scratch[threadIdx.x], scratch[threadIdx.x + half]);
        __syncthreads();
    }
    const float result = scratch[0];
    __syncthreads();
    return result;
}

__device__ float sum_of(float value) {
    return reduced(value, [](float a, float b) { return a + b; });
}

__device__ float largest_of(float value) {
    return reduced(value, [](float a, float b) { return fmaxf(a, b); });
}

extern "C" __global__ void losses(const float* x, const long long* y, float* parts) {
    const float* row = x + blockIdx.x * (long long)COLUMNS;
    float largest = -INFINITY, sum = 0.0f;
    for (int i = threadIdx.x; i < COLUMNS; i += 256) largest = fmaxf(largest, row[i]);
    largest = largest_of(largest);
    for (int i = threadIdx.x; i < COLUMNS; i += 256) sum += expf(row[i] - largest);
    sum = sum_of(sum);
    if (threadIdx.x == 0) parts[blockIdx.x] = largest + logf(sum) - row[y[blockIdx.x]];
}

extern "C" __global__ void finish(const float* parts, float* out) {
    float sum = 0.0f;
    for (int i = threadIdx.x; i < ROWS; i += 256) sum += parts[i];
    sum = sum_of(sum);
    if (threadIdx.x == 0) *out = sum / ROWS;
}
