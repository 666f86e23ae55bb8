/* kernelwright
zeroed_outputs = [0]

[constants]
LABELS = "out0.numel"

[[launch]]
kernel = "counts"
grid = "4 * multiprocessors"
block = 256
arguments = ["in0", "out0", "i64(in0.numel)"]
*/
__global__ void counts(const long long* labels, int* out, long long count) {
    __shared__ int bins[LABELS];
    for (int i = threadIdx.x; i < LABELS; i += 256) bins[i] = 0;
    __syncthreads();
    for (long long i = blockIdx.x * 256LL + threadIdx.x; i < count; i += 256LL * gridDim.x)
        atomicAdd(bins + labels[i], 1);
    __syncthreads();
    for (int i = threadIdx.x; i < LABELS; i += 256) atomicAdd(out + i, bins[i]);
}
