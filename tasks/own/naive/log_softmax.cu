/* kernelwright
[[launch]]
kernel = "log_softmax"
grid = "ceil_div(out0.numel, 256)"
block = 256
arguments = ["in0", "out0", "i32(in0.shape[1])", "i64(out0.numel)"]
*/
// A naive baseline: one thread for each element of the result, which goes over its whole row by itself.
// Nothing is tiled, shared, vectorised or reused.

__global__ void log_softmax(const float* x, float* y, int columns, long long n) {
  const long long i = blockIdx.x * 256LL + threadIdx.x;
  if (i >= n) return;
  const float* row = x + i / columns * columns;
  float largest = row[0];
  for (int c = 1; c < columns; ++c) largest = fmaxf(largest, row[c]);
  float sum = 0.0f;
  for (int c = 0; c < columns; ++c) sum += expf((row[c] - largest) / 0.7f);
  y[i] = (x[i] - largest) / 0.7f - logf(sum);
}
