//: base = chunked-scan | | A running sum is a sum of chunks and a running sum within each. | Sums of chunks by threads, their running sum by one thread, then the chunks
//: tree = two-level-scan | | One thread goes through all sums of chunks. | A block scans them, each thread a share
//: warp = warp-scan | | A thread goes through its chunk alone, apart from its neighbours. | A block scans its chunk by shuffles, side by side
//: keep = recompute-instead-of-store | warp | The chunk is read from memory twice. | The first pass only adds up, the second scans
/* kernelwright
[constants]
N = "in0.numel"
CHUNK = "1024"
CHUNKS = "ceil_div(N, CHUNK)"

[[workspace]]
bytes = "4 * CHUNKS"

[[launch]]
kernel = "sums"
grid = "${'CHUNKS' if warp else 'ceil_div(CHUNKS, 64)'}"
block = ${256 if warp else 64}
arguments = ["in0", "work0"]

[[launch]]
kernel = "offsets"
grid = 1
block = ${1024 if tree else 1}
arguments = ["work0"]

[[launch]]
kernel = "scan"
grid = "${'CHUNKS' if warp else 'ceil_div(CHUNKS, 64)'}"
block = ${256 if warp else 64}
arguments = ["in0", "work0", "out0"]
*/
//% if warp
__device__ float scanned(float value, float& total, int warps) {
    __shared__ float meet[32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int k = 1; k < 32; k *= 2) {
        const float other = __shfl_up_sync(0xffffffff, value, k);
        if (lane >= k) value += other;
    }
    if (lane == 31) meet[warp] = value;
    __syncthreads();
    float before = 0.0f;
    total = 0.0f;
    for (int k = 0; k < warps; ++k) {
        if (k < warp) before += meet[k];
        total += meet[k];
    }
    __syncthreads();
    return value + before;
}

__global__ void sums(const float* x, float* work) {
    const long long first = blockIdx.x * (long long)CHUNK + threadIdx.x * 4LL;
//% if keep
    float sum = 0.0f;
    for (long long i = blockIdx.x * (long long)CHUNK + threadIdx.x; i < (blockIdx.x + 1LL) * CHUNK && i < N; i += 256) sum += x[i];
    for (int k = 16; k > 0; k /= 2) sum += __shfl_down_sync(0xffffffff, sum, k);
    __shared__ float meet[8];
    if (threadIdx.x % 32 == 0) meet[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) work[blockIdx.x] = meet[0] + meet[1] + meet[2] + meet[3] + meet[4] + meet[5] + meet[6] + meet[7];
//% else
    float sum = 0.0f, total;
    for (int k = 0; k < 4; ++k) sum += first + k < N ? x[first + k] : 0.0f;
    scanned(sum, total, 8);
    if (threadIdx.x == 0) work[blockIdx.x] = total;
//% endif
}

__global__ void scan(const float* x, const float* work, float* out) {
    const long long first = blockIdx.x * (long long)CHUNK + threadIdx.x * 4LL;
    float own[4], sum = 0.0f, total;
    for (int k = 0; k < 4; ++k) own[k] = sum += first + k < N ? x[first + k] : 0.0f;
    const float before = work[blockIdx.x] + scanned(sum, total, 8) - sum;
    for (int k = 0; k < 4; ++k)
        if (first + k < N) out[first + k] = before + own[k];
}
//% else
__global__ void sums(const float* x, float* work) {
    const int chunk = blockIdx.x * 64 + threadIdx.x;
    if (chunk >= CHUNKS) return;
    float sum = 0.0f;
    for (long long i = chunk * (long long)CHUNK; i < (chunk + 1LL) * CHUNK && i < N; ++i) sum += x[i];
    work[chunk] = sum;
}

__global__ void scan(const float* x, const float* work, float* out) {
    const int chunk = blockIdx.x * 64 + threadIdx.x;
    if (chunk >= CHUNKS) return;
    float sum = work[chunk];
    for (long long i = chunk * (long long)CHUNK; i < (chunk + 1LL) * CHUNK && i < N; ++i) out[i] = sum += x[i];
}
//% endif

__global__ void offsets(float* work) {
//% if tree
    __shared__ float shares[1024];
    const int share = (CHUNKS + 1023) / 1024, first = threadIdx.x * share;
    float sum = 0.0f;
    for (int k = first; k < first + share && k < CHUNKS; ++k) sum += work[k];
    shares[threadIdx.x] = sum;
    for (int k = 1; k < 1024; k *= 2) {
        __syncthreads();
        const float other = threadIdx.x >= k ? shares[threadIdx.x - k] : 0.0f;
        __syncthreads();
        shares[threadIdx.x] += other;
    }
    float before = shares[threadIdx.x] - sum;
    for (int k = first; k < first + share && k < CHUNKS; ++k) {
        const float own = work[k];
        work[k] = before;
        before += own;
    }
//% else
    float sum = 0.0f;
    for (int k = 0; k < CHUNKS; ++k) {
        const float own = work[k];
        work[k] = sum;
        sum += own;
    }
//% endif
}
