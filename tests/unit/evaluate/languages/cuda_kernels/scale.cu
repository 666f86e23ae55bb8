/* kernelwright
[tunables]
BLOCK = [128, 256]

[[launch]]
kernel = "scale<float, BLOCK, 2>"
grid = "ceil_div(in0.numel, BLOCK)"
block = "BLOCK"
arguments = ["in0", "out0", "f32(2.5)", "u32(in0.numel)"]
*/
namespace {
template <typename T> __device__ T times(T a, T b) { return a * b; }
}

template <typename T, int THREADS, int POWER>
__global__ void scale(const T* x, T* y, T factor, unsigned n) {
  const unsigned i = blockIdx.x * THREADS + threadIdx.x;
  if (i >= n) return;
  T value = x[i];
  for (int p = 0; p < POWER; ++p) value = times(value, factor);
  y[i] = value;
}
