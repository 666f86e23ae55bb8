/* kernelwright
zeroed_outputs = [0]

[[launch]]
kernel = "count"
grid = "ceil_div(in0.numel, 256)"
block = 256
arguments = ["in0", "out0", "i64(in0.numel)"]
*/
// A naive baseline: one thread for each value, and all count in the same places.
// Nothing is tiled, shared, vectorised or reused.

__global__ void count(const int* x, int* counts, long long n) {
  const long long i = blockIdx.x * 256LL + threadIdx.x;
  if (i < n) atomicAdd(counts + x[i], 1);
}
