"""What people put into `load_inline`, three ways."""

PLAIN = """
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void relu_kernel(const float* __restrict__ x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.f);
}

torch::Tensor relu_cuda(torch::Tensor x) {
  TORCH_CHECK(x.is_contiguous(), "contiguous, please");
  auto y = torch::empty_like(x);
  int n = x.numel();
  const int block = 256;
  relu_kernel<<<(n + block - 1) / block, block>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
"""

DISPATCHED = """
#include <torch/extension.h>
#include <cuda_runtime.h>

namespace {
template <typename scalar_t>
struct Relu {
  scalar_t least;
  __device__ __forceinline__ scalar_t operator()(scalar_t x) const { return x > least ? x : __ldg(&least); }
};

template <typename scalar_t, typename F, int BLOCK>
__global__ void __launch_bounds__(BLOCK) map_kernel(const scalar_t* __restrict__ x, scalar_t* y, F f, int64_t n) {
  const int64_t i = blockIdx.x * (int64_t)BLOCK + threadIdx.x;
  if (i < n) y[i] = x[i] > scalar_t(0) ? x[i] : scalar_t(0);
}
}  // namespace

torch::Tensor relu_cuda(torch::Tensor x) {
  auto y = torch::empty_like(x);
  const int64_t n = x.numel();
  AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "relu", ([&] {
    map_kernel<scalar_t, Relu<scalar_t>, 256><<<(n + 255) / 256, 256>>>(
        x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), Relu<scalar_t>{scalar_t(0)}, n);
  }));
  return y;
}
"""

REDUCED = """
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
"""
ALL = {"plain": PLAIN, "dispatched": DISPATCHED, "reduced": REDUCED}
