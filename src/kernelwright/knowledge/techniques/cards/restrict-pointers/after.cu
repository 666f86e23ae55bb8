/* kernelwright
[[launch]]
kernel = "weighted"
grid = "in0.numel // 1024"
block = 128
arguments = ["in0", "in1", "out0"]
*/
__global__ void weighted(const float* __restrict__ x, const float* __restrict__ y, float* __restrict__ out) {
    const long long start = blockIdx.x * 1024LL + threadIdx.x;
#pragma unroll
    for (int i = 0; i < 1024; i += 128) out[start + i] = x[start + i] * 0.75f + y[start + i] * y[start + i];
}
