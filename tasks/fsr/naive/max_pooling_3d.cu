/* kernelwright
[[launch]]
kernel = "pool"
grid = "ceil_div(out0.numel, 256)"
block = 256
arguments = ["in0", "out0", "i64(in0.shape[2])", "i64(out0.shape[2])", "i64(out0.numel)"]
*/
// A naive baseline: one thread for each element of the result.
// Nothing is tiled, shared, vectorised or reused.

__global__ void pool(const float* x, float* y, long long side, long long out, long long n) {
  const long long i = blockIdx.x * 256LL + threadIdx.x;
  if (i >= n) return;
  const long long z = i / (out * out) % out, r = i / out % out, c = i % out;
  const float* volume = x + i / (out * out * out) * side * side * side;
  float largest = __int_as_float(0xff800000);
  for (int dz = 0; dz < 3; ++dz)
    for (int dr = 0; dr < 3; ++dr)
      for (int dc = 0; dc < 3; ++dc) {
        const long long a = 2 * z - 1 + 3 * dz, b = 2 * r - 1 + 3 * dr, d = 2 * c - 1 + 3 * dc;
        if (a >= 0 && a < side && b >= 0 && b < side && d >= 0 && d < side)
          largest = fmaxf(largest, volume[(a * side + b) * side + d]);
      }
  y[i] = largest;
}
