/* kernelwright
[[launch]]
kernel = "gelu"
grid = "ceil_div(out0.numel, 256)"
block = 256
arguments = ["in0", "out0", "i64(out0.numel)"]
*/
// A naive baseline: one thread for each element of the result.
// Nothing is tiled, shared, vectorised or reused.

__global__ void gelu(const float* x, float* y, long long n) {
  const long long i = blockIdx.x * 256LL + threadIdx.x;
  if (i >= n) return;
  const float inner = 0.7978845608f * (x[i] + 0.044715f * x[i] * x[i] * x[i]);
  y[i] = 0.5f * x[i] * (1.0f + tanhf(inner));
}
