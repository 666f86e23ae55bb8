/* kernelwright
[tunables]
BLOCK = [256, 128, 512]

[[launch]]
kernel = "relu"
grid = "ceil_div(in0.numel, BLOCK * 4)"
block = "BLOCK"
arguments = ["in0", "out0", "i64(in0.numel)"]
*/
__global__ void relu(const float* __restrict__ x, float* __restrict__ y, long long n) {
  const long long base = (blockIdx.x * (long long)BLOCK + threadIdx.x) * 4;
#pragma unroll
  for (int i = 0; i < 4; ++i)
    if (base + i < n) y[base + i] = fmaxf(x[base + i], 0.0f);
}
