/* kernelwright
[constants]
COLUMNS = "in0.shape[-1]"

[[launch]]
kernel = "kernel"
grid = "in0.shape[0]"
block = 256
arguments = ["in0", "out0"]
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

extern "C" __global__ void kernel(const float* x, float* out) {
    const float* row = x + blockIdx.x * (long long)COLUMNS;
    float squares = 0.0f;
    for (int i = threadIdx.x; i < COLUMNS; i += 256) squares += row[i] * row[i];
    const float scale = rsqrtf(sum_of(squares) / COLUMNS + 1e-6f);
    for (int i = threadIdx.x; i < COLUMNS; i += 256) out[blockIdx.x * (long long)COLUMNS + i] = row[i] * scale;
}
