/* kernelwright
[[workspace]]
bytes = 1024

[[launch]]
kernel = "partial"
grid = 256
block = 256
arguments = ["in0", "in1", "work0", "i64(in0.numel)"]

[[launch]]
kernel = "finish"
grid = 1
block = 256
arguments = ["work0", "out0", "f32(1.0 / in0.numel)"]
*/

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

extern "C" __global__ void partial(const float* x, const float* y, float* parts, long long count) {
    float sum = 0.0f;
    for (long long i = blockIdx.x * 256LL + threadIdx.x; i < count; i += 65536) {
        const float d = x[i] - y[i];
        sum += fabsf(d);
    }
    sum = sum_of(sum);
    if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}

extern "C" __global__ void finish(const float* parts, float* out, float scale) {
    const float sum = sum_of(parts[threadIdx.x]);
    if (threadIdx.x == 0) *out = sum * scale;
}
