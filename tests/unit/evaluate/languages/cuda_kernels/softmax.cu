/* kernelwright
[constants]
COLUMNS = "in0.shape[-1]"

[[launch]]
kernel = "softmax"
grid = "in0.numel // COLUMNS"
block = 256
shared = "4 * (COLUMNS + 256)"
arguments = ["in0", "out0"]
*/
#include <cmath>

template <typename Combine>
__device__ float reduced(float value, float* scratch, Combine combine) {
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

extern "C" __global__ void softmax(const float* x, float* y) {
  extern __shared__ float row[];
  float* scratch = row + COLUMNS;
  const long long start = blockIdx.x * (long long)COLUMNS;
  float largest = -INFINITY;
  for (int i = threadIdx.x; i < COLUMNS; i += 256) largest = fmaxf(largest, row[i] = x[start + i]);
  largest = reduced(largest, scratch, [](float a, float b) { return fmaxf(a, b); });
  float sum = 0.0f;
  for (int i = threadIdx.x; i < COLUMNS; i += 256) sum += row[i] = expf(row[i] - largest);
  sum = reduced(sum, scratch, [](float a, float b) { return a + b; });
  for (int i = threadIdx.x; i < COLUMNS; i += 256) y[start + i] = row[i] / sum;
}
