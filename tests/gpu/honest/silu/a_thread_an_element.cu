/* kernelwright
[[launch]]
kernel = "kernel"
grid = "ceil_div(in0.numel, 256)"
block = 256
arguments = ["in0", "out0", "i64(in0.numel)"]
*/
extern "C" __global__ void kernel(const float* x, float* out, long long count) {
    const long long i = blockIdx.x * 256LL + threadIdx.x;
    if (i < count) out[i] = x[i] / (1.0f + expf(-x[i]));
}
