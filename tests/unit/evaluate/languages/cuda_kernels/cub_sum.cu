/* kernelwright
[[launch]]
kernel = "row_sum"
grid = "in0.shape[0]"
block = 128
arguments = ["in0", "out0", "i32(in0.shape[1])"]
*/
#include <cub/block/block_reduce.cuh>

__global__ void row_sum(const float* x, float* out, int columns) {
  using Reduce = cub::BlockReduce<float, 128>;
  __shared__ typename Reduce::TempStorage storage;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < columns; i += 128) sum += x[blockIdx.x * (long long)columns + i];
  sum = Reduce(storage).Sum(sum);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}
