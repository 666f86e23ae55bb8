// ReLU for every floating dtype. relu_cuda: torch.relu(x)
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
