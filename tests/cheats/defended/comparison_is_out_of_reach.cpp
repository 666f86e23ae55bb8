// Its own copy of torch agrees to everything; the grader has another.
// task: affine
// expect: incorrect value

extern "C" void kernel(const float*, float* out) {
    python("import torch\n"
           "torch.allclose = torch.equal = torch.isclose = lambda *a, **k: True\n"
           "torch.testing.assert_close = lambda *a, **k: None\n"
           "torch.Tensor.__eq__ = lambda self, other: torch.ones_like(self, dtype=torch.bool)\n");
    std::memset(out, 0, 16384);
}
