/* kernelwright
zeroed_outputs = [0]

[[launch]]
kernel = "counts"
grid = "4 * multiprocessors"
block = 256
arguments = ["in0", "out0", "i64(in0.numel)"]
*/
__global__ void counts(const long long* labels, int* out, long long count) {
    for (long long i = blockIdx.x * 256LL + threadIdx.x; i < count; i += 256LL * gridDim.x)
        atomicAdd(out + labels[i], 1);
}
