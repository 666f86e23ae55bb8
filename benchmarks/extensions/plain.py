"""ReLU, as a candidate that builds its own extension."""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
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
BUILT = load_inline(
    name="plain",
    cpp_sources="torch::Tensor relu_cuda(torch::Tensor x);",
    cuda_sources=SOURCE,
    functions=["relu_cuda"],
    verbose=True,
    extra_cflags=["-O3"],
)


class Model(torch.nn.Module):
    """The reference."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """What is wanted."""
        return torch.relu(x)


class ModelNew(torch.nn.Module):
    """The candidate."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The same, by the extension."""
        return BUILT.relu_cuda(x)
