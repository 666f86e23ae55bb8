/* kernelwright
[[launch]]
kernel = "layer_norm"
grid = "ceil_div(out0.numel, 256)"
block = 256
arguments = ["in0", "param0", "param1", "out0", "i32(in0.shape[3])", "i64(out0.numel)"]
*/
// A naive baseline: one thread for each element of the result, which adds up its whole row by itself.
// Nothing is tiled, shared, vectorised or reused.

__global__ void layer_norm(const float* x, const float* weight, const float* bias, float* y, int columns, long long n) {
  const long long i = blockIdx.x * 256LL + threadIdx.x;
  if (i >= n) return;
  const float* row = x + i / columns * columns;
  double sum = 0.0;
  for (int c = 0; c < columns; ++c) sum += row[c];
  const float mean = sum / columns;
  double squares = 0.0;
  for (int c = 0; c < columns; ++c) squares += (row[c] - mean) * (row[c] - mean);
  y[i] = (x[i] - mean) * rsqrtf(float(squares / columns) + 1e-5f) * weight[i % columns] + bias[i % columns];
}
