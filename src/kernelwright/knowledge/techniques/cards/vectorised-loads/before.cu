/* kernelwright
[[launch]]
kernel = "scaled_relu"
grid = "ceil_div(in0.numel, 256)"
block = 256
arguments = ["in0", "out0", "i64(in0.numel)"]
*/
__global__ void scaled_relu(const float* x, float* out, long long count) {
    const long long i = blockIdx.x * 256LL + threadIdx.x;
    if (i < count) out[i] = fmaxf(x[i], 0.0f) * 0.5f;
}
