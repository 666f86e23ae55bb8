/* kernelwright
[[workspace]]
bytes = 8
zeroed = true

[[launch]]
kernel = "add_up"
grid = "ceil_div(in0.numel, 256)"
block = 256
arguments = ["in0", "in1", "work0", "i64(in0.numel)"]

[[launch]]
kernel = "finish"
grid = 1
block = 1
arguments = ["work0", "out0", "f64(1.0 / in0.numel)"]
*/
// A naive baseline: there is one element of the result, so one thread for each term, and all add to one place.
// In double precision, since so many additions to one place of single precision would lose most of them.

__global__ void add_up(const float* a, const float* b, double* total, long long n) {
  const long long i = blockIdx.x * 256LL + threadIdx.x;
  if (i >= n) return;
  const float off = fabsf(a[i] - b[i]);
  atomicAdd(total, (double)(off <= 0.8f ? 0.5f * off * off : 0.8f * (off - 0.4f)));
}

__global__ void finish(const double* total, float* y, double scale) { *y = (float)(*total * scale); }
