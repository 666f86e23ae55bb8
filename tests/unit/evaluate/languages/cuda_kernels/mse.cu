/* kernelwright
[tunables]
BLOCK = [256, 512]

[constants]
PARTS = "min(ceil_div(in0.numel, BLOCK), 4 * multiprocessors)"

[[workspace]]
bytes = "4 * PARTS"

[[launch]]
kernel = "partial_sums"
grid = "PARTS"
block = "BLOCK"
shared = "4 * BLOCK"
arguments = ["in0", "in1", "work0", "i64(in0.numel)"]

[[launch]]
kernel = "total"
grid = 1
block = "BLOCK"
shared = "4 * BLOCK"
arguments = ["work0", "out0", "f32(1.0 / in0.numel)"]
*/
__device__ float block_sum(float value) {
  extern __shared__ float shared[];
  shared[threadIdx.x] = value;
  __syncthreads();
  for (int half = BLOCK / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
    __syncthreads();
  }
  return shared[0];
}

__global__ void partial_sums(const float* x, const float* y, float* parts, long long n) {
  float sum = 0.0f;
  for (long long i = blockIdx.x * (long long)BLOCK + threadIdx.x; i < n; i += (long long)BLOCK * PARTS) {
    const float difference = x[i] - y[i];
    sum += difference * difference;
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}

__global__ void total(const float* parts, float* out, float scale) {
  float sum = 0.0f;
  for (int i = threadIdx.x; i < PARTS; i += BLOCK) sum += parts[i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) *out = sum * scale;
}
