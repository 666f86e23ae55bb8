/* kernelwright
[[launch]]
kernel = "copy"
grid = "ceil_div(out0.numel, 256)"
block = 256
arguments = ["in0", "out0", "i64(out0.numel)"]
*/
// A naive baseline: one thread for each element of the result.
// Nothing is tiled, shared, vectorised or reused.

__global__ void copy(const float* x, float* y, long long n) {
  const long long i = blockIdx.x * 256LL + threadIdx.x;
  if (i >= n) return;
  y[i] = x[i];
}
