/* kernelwright
[[launch]]
kernel = "scaled_relu"
grid = "ceil_div(in0.numel, 1024)"
block = 256
arguments = ["in0", "out0", "i64(in0.numel)"]
*/
__device__ float scaled(float x) {
    return fmaxf(x, 0.0f) * 0.5f;
}

__global__ void scaled_relu(const float* x, float* out, long long count) {
    const long long i = (blockIdx.x * 256LL + threadIdx.x) * 4;
    const bool aligned = (reinterpret_cast<unsigned long long>(x) | reinterpret_cast<unsigned long long>(out)) % 16 == 0;
    if (aligned && i + 4 <= count) {
        const float4 v = *reinterpret_cast<const float4*>(x + i);
        *reinterpret_cast<float4*>(out + i) = make_float4(scaled(v.x), scaled(v.y), scaled(v.z), scaled(v.w));
    } else {
        for (long long j = i; j < count && j < i + 4; ++j) out[j] = scaled(x[j]);
    }
}
