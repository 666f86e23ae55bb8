// ReLU. relu_cuda: torch.relu(x)
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
