/* kernelwright
[constants]
COLUMNS = "in0.shape[-1]"

[[launch]]
kernel = "kernel"
grid = "in0.shape[0]"
block = 256
arguments = ["in0", "param0", "param1", "out0"]
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

extern "C" __global__ void kernel(const float* x, const float* weight, const float* bias, float* out) {
    const float* row = x + blockIdx.x * (long long)COLUMNS;
    // Welford's method, merged as Chan, Golub and LeVeque do.
    float mean = 0.0f, squares = 0.0f, count = 0.0f;
    for (int i = threadIdx.x; i < COLUMNS; i += 256) {
        const float d = row[i] - mean;
        mean += d / ++count;
        squares += d * (row[i] - mean);
    }
    const float whole = sum_of(mean * count) / COLUMNS;
    const float all = sum_of(squares + count * (mean - whole) * (mean - whole));
    const float scale = rsqrtf(all / COLUMNS + 1e-5f);
    for (int i = threadIdx.x; i < COLUMNS; i += 256)
        out[blockIdx.x * (long long)COLUMNS + i] = (row[i] - whole) * scale * weight[i] + bias[i];
}
