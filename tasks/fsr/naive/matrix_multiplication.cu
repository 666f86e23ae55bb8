/* kernelwright
[[launch]]
kernel = "multiply"
grid = "ceil_div(out0.numel, 256)"
block = 256
arguments = ["in0", "in1", "out0", "i64(in0.shape[1])", "i64(in1.shape[1])", "i64(out0.numel)"]
*/
// A naive baseline: one thread for each element of the result.
// Nothing is tiled, shared, vectorised or reused.

__global__ void multiply(const float* a, const float* b, float* y, long long inner, long long columns, long long n) {
  const long long i = blockIdx.x * 256LL + threadIdx.x;
  if (i >= n) return;
  const float* row = a + i / columns * inner;
  const float* column = b + i % columns;
  float sum = 0.0f;
  for (long long k = 0; k < inner; ++k) sum += row[k] * column[k * columns];
  y[i] = sum;
}
