/* kernelwright
[[launch]]
kernel = "kernel"
grid = "ceil_div(in0.numel, 256)"
block = 256
arguments = ["in0", "out0", "i64(in0.numel)"]
*/
extern "C" __global__ void kernel(const float* x, signed char* out, long long count) {
    const long long i = blockIdx.x * 256LL + threadIdx.x;
    if (i < count) out[i] = (signed char)max(-127, min(127, __float2int_rn(x[i] / 0.05f)));
}
