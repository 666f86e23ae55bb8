// A sum in two launches. sum_cuda: x.sum()
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

#define THREADS 256
__constant__ float scales[2] = {1.0f, 0.5f};

__inline__ __device__ float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(0xffffffff, value, offset);
  return value;
}

static __global__ void partial(const float* x, float* parts, int n) {
  __shared__ float shared[THREADS / 32];
  float sum = 0.0f;
  for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS) sum += x[i] * scales[0];
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = sum;
  cg::this_thread_block().sync();
  if (threadIdx.x == 0) {
    sum = 0.0f;
    for (int i = 0; i < THREADS / 32; ++i) sum += shared[i];
    parts[blockIdx.x] = sum;
  }
}

static int blocks_for(int n) { return std::min((n + THREADS - 1) / THREADS, 1024); }

torch::Tensor sum_cuda(torch::Tensor x) {
  const int n = x.numel(), blocks = blocks_for(n);
  auto parts = torch::empty({blocks}, x.options());
  auto out = torch::empty({}, x.options());
  cudaFuncSetAttribute(partial, cudaFuncAttributeMaxDynamicSharedMemorySize, 1024);
  partial<<<blocks, THREADS, 0>>>(x.data_ptr<float>(), parts.data_ptr<float>(), n);
  partial<<<1, THREADS, 0, nullptr>>>(parts.data_ptr<float>(), out.data_ptr<float>(), blocks);
  return out;
}
