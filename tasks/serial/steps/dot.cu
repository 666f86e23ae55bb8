//: base = thread-per-element | | Products are independent; only their sum meets. | A thread sums 64 neighbours and adds its sum atomically
//: coalesced = coalesced-access | | A warp's threads read words 256 bytes apart. | Neighbouring threads take neighbouring elements
//: warp = warp-shuffle-reduction | | Thirty-two additions to one address wait for each other. | Sum up within the warp by shuffles, one addition a warp
//: block = avoid-atomics | warp | Still eight additions a block. | Warps meet in shared memory, one addition a block
//: vec = vectorised-loads | coalesced | Four bytes a load keep the load units busier than memory. | float4 where the pointers allow it
/* kernelwright
[[workspace]]
bytes = "8"
zeroed = true

[[launch]]
kernel = "dot"
grid = "ceil_div(in0.numel, 256 * 64)"
block = 256
arguments = ["in0", "in1", "work0", "i64(in0.numel)"]

[[launch]]
kernel = "rounded"
grid = 1
block = 1
arguments = ["work0", "out0"]
*/
// So many sums meet in one number, and terms cancel so far, that single precision would lose five digits of it.
__global__ void rounded(const double* total, float* out) { *out = (float)*total; }

__global__ void dot(const float* x, const float* y, double* total, long long n) {
    float sum = 0.0f;
    const long long first = blockIdx.x * 256LL * 64;
//% if coalesced
//% if vec
    const bool aligned = ((unsigned long long)x | (unsigned long long)y) % 16 == 0;
    if (aligned && first + 256 * 64 <= n) {
        for (int k = 0; k < 16; ++k) {
            const long long i = first + (k * 256 + threadIdx.x) * 4;
            const float4 a = *(const float4*)(x + i), b = *(const float4*)(y + i);
            sum += a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
        }
    } else
//% endif
    for (long long i = first + threadIdx.x; i < first + 256 * 64 && i < n; i += 256) sum += x[i] * y[i];
//% else
    const long long begin = first + threadIdx.x * 64LL;
    for (long long i = begin; i < begin + 64 && i < n; ++i) sum += x[i] * y[i];
//% endif
//% if warp
    for (int k = 16; k > 0; k /= 2) sum += __shfl_down_sync(0xffffffff, sum, k);
//% if block
    __shared__ float sums[8];
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int k = 1; k < 8; ++k) sum += sums[k];
        atomicAdd(total, (double)sum);
    }
//% else
    if (threadIdx.x % 32 == 0) atomicAdd(total, (double)sum);
//% endif
//% else
    atomicAdd(total, (double)sum);
//% endif
}
