# only: cpu
# task: chain
# truth: right
# speed: any
# claimed: 4.00
# C++ through cpp_extension.load.
import torch
from torch import nn
from pathlib import Path
from torch.utils.cpp_extension import load
import tempfile

SOURCE = r'''
#include <torch/extension.h>

torch::Tensor fused(torch::Tensor x) {
  auto y = torch::empty_like(x);
  const float* in = x.data_ptr<float>();
  float* out = y.data_ptr<float>();
  for (int64_t i = 0; i < x.numel(); ++i) {
    const float v = in[i] * 1.5f + 0.5f;
    out[i] = (v > 0.0f ? v : 0.0f) * in[i] + 1.0f;
  }
  return y;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("fused", &fused); }
'''
file = Path(tempfile.mkdtemp()) / "fused.cpp"
file.write_text(SOURCE)
built = load("fused_file", [str(file)], extra_cflags=["-O3"])


class ModelNew(nn.Module):
    def forward(self, x):
        return built.fused(x)
