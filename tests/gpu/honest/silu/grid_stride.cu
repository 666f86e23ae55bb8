/* kernelwright
[[launch]]
kernel = "kernel"
grid = "min(ceil_div(in0.numel, 256), 8 * multiprocessors)"
block = 256
arguments = ["in0", "out0", "i64(in0.numel)"]
*/
extern "C" __global__ void kernel(const float* __restrict__ x, float* __restrict__ out, long long count) {
    for (long long i = blockIdx.x * 256LL + threadIdx.x; i < count; i += gridDim.x * 256LL)
        out[i] = x[i] / (1.0f + expf(-x[i]));
}
