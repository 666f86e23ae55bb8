//: base = thread-per-element | | The elements are independent, and additions commute. | A thread takes sixteen neighbours and adds atomically
//: shared = privatised-histogram | | All threads add to the same 256 words of memory. | A histogram of its own for each block, in shared memory
//: coalesced = coalesced-access | | A warp's threads read words 64 bytes apart. | Neighbouring threads take neighbouring elements
//: copies = replicated-counters | shared | Equal values of a block wait for each other. | Four histograms a block
//: vec = vectorised-loads | coalesced | Four bytes a load keep the load units busier than memory. | int4 where the pointer allows it
/* kernelwright
zeroed_outputs = [0]

[constants]
COPIES = "${4 if copies else 1}"

[[launch]]
kernel = "histogram"
grid = "ceil_div(in0.numel, 4096)"
block = 256
arguments = ["in0", "out0", "i64(in0.numel)"]
*/
__global__ void histogram(const int* x, int* counts, long long n) {
//% if shared
    __shared__ int own[COPIES][256];
    for (int k = threadIdx.x; k < COPIES * 256; k += 256) own[k / 256][k % 256] = 0;
    __syncthreads();
    int* to = own[threadIdx.x % COPIES];
//% else
    int* to = counts;
//% endif
    const long long first = blockIdx.x * 4096LL;
//% if coalesced
//% if vec
    if ((unsigned long long)x % 16 == 0 && first + 4096 <= n) {
        for (int k = threadIdx.x; k < 1024; k += 256) {
            const int4 v = *(const int4*)(x + first + k * 4);
            atomicAdd(to + v.x, 1);
            atomicAdd(to + v.y, 1);
            atomicAdd(to + v.z, 1);
            atomicAdd(to + v.w, 1);
        }
    } else
//% endif
    for (long long i = first + threadIdx.x; i < first + 4096 && i < n; i += 256) atomicAdd(to + x[i], 1);
//% else
    for (long long i = first + threadIdx.x * 16; i < first + threadIdx.x * 16 + 16 && i < n; ++i) atomicAdd(to + x[i], 1);
//% endif
//% if shared
    __syncthreads();
    int sum = 0;
    for (int k = 0; k < COPIES; ++k) sum += own[k][threadIdx.x];
    if (sum > 0) atomicAdd(counts + threadIdx.x, sum);
//% endif
}
