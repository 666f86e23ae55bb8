/* kernelwright
[[launch]]
kernel = "transpose"
grid = "ceil_div(out0.numel, 256)"
block = 256
arguments = ["in0", "out0", "i64(in0.shape[0])", "i64(in0.shape[1])", "i64(out0.numel)"]
*/
// A naive baseline: one thread for each element of the result.
// Nothing is tiled, shared, vectorised or reused.

__global__ void transpose(const float* x, float* y, long long rows, long long columns, long long n) {
  const long long i = blockIdx.x * 256LL + threadIdx.x;
  if (i >= n) return;
  y[i] = x[i % rows * columns + i / rows];
}
