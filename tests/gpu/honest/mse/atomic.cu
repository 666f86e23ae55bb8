/* kernelwright
zeroed_outputs = [0]

[[launch]]
kernel = "kernel"
grid = 256
block = 256
arguments = ["in0", "in1", "out0", "i64(in0.numel)", "f32(1.0 / in0.numel)"]
*/
extern "C" __global__ void kernel(const float* x, const float* y, float* out, long long count, float scale) {
    float sum = 0.0f;
    for (long long i = blockIdx.x * 256LL + threadIdx.x; i < count; i += 65536) sum += (x[i] - y[i]) * (x[i] - y[i]);
    for (int lane = 16; lane > 0; lane /= 2) sum += __shfl_down_sync(0xffffffffu, sum, lane);
    if (threadIdx.x % 32 == 0) atomicAdd(out, sum * scale);
}
