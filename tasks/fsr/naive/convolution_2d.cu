/* kernelwright
[[launch]]
kernel = "convolve"
grid = "ceil_div(out0.numel, 256)"
block = 256
arguments = ["in0", "in1", "out0", "i64(in0.shape[1])", "i64(out0.shape[1])", "i32(in1.shape[1])", "i64(out0.numel)"]
*/
// A naive baseline: one thread for each element of the result.
// Nothing is tiled, shared, vectorised or reused.

__global__ void convolve(const float* image, const float* window, float* y, long long width, long long columns, int side, long long n) {
  const long long i = blockIdx.x * 256LL + threadIdx.x;
  if (i >= n) return;
  const float* corner = image + i / columns * width + i % columns;
  float sum = 0.0f;
  for (int r = 0; r < side; ++r)
    for (int c = 0; c < side; ++c) sum += corner[r * width + c] * window[r * side + c];
  y[i] = sum;
}
