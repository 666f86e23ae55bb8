//: base = chunked-scan | | Where an element goes follows from how many are kept before its chunk. | Counts of chunks by threads, their running sum by one thread, then the chunks
//: tree = two-level-scan | | One thread goes through all counts. | A block scans them, each thread a share
//: ballot = ballot-compaction | | A thread goes through its chunk alone, apart from its neighbours. | A warp votes: the bits below a lane say where its element goes
/* kernelwright
zeroed_outputs = [0]

[constants]
N = "in0.numel"
CHUNK = "1024"
CHUNKS = "ceil_div(N, CHUNK)"

[[workspace]]
bytes = "4 * CHUNKS"

[[launch]]
kernel = "count"
grid = "${'CHUNKS' if ballot else 'ceil_div(CHUNKS, 64)'}"
block = ${32 if ballot else 64}
arguments = ["in0", "work0"]

[[launch]]
kernel = "offsets"
grid = 1
block = ${1024 if tree else 1}
arguments = ["work0"]

[[launch]]
kernel = "move"
grid = "${'CHUNKS' if ballot else 'ceil_div(CHUNKS, 64)'}"
block = ${32 if ballot else 64}
arguments = ["in0", "work0", "out0"]
*/
//% if ballot
__global__ void count(const float* x, int* work) {
    int kept = 0;
    for (int k = threadIdx.x; k < CHUNK; k += 32) {
        const long long i = blockIdx.x * (long long)CHUNK + k;
        kept += __popc(__ballot_sync(0xffffffff, i < N && x[i] > 0.0f));
    }
    if (threadIdx.x == 0) work[blockIdx.x] = kept;
}

__global__ void move(const float* x, const int* work, float* out) {
    int kept = work[blockIdx.x];
    for (int k = threadIdx.x; k < CHUNK; k += 32) {
        const long long i = blockIdx.x * (long long)CHUNK + k;
        const float value = i < N ? x[i] : 0.0f;
        const unsigned votes = __ballot_sync(0xffffffff, value > 0.0f);
        if (value > 0.0f) out[kept + __popc(votes & ((1u << threadIdx.x) - 1))] = value;
        kept += __popc(votes);
    }
}
//% else
__global__ void count(const float* x, int* work) {
    const int chunk = blockIdx.x * 64 + threadIdx.x;
    if (chunk >= CHUNKS) return;
    int kept = 0;
    for (long long i = chunk * (long long)CHUNK; i < (chunk + 1LL) * CHUNK && i < N; ++i) kept += x[i] > 0.0f;
    work[chunk] = kept;
}

__global__ void move(const float* x, const int* work, float* out) {
    const int chunk = blockIdx.x * 64 + threadIdx.x;
    if (chunk >= CHUNKS) return;
    int kept = work[chunk];
    for (long long i = chunk * (long long)CHUNK; i < (chunk + 1LL) * CHUNK && i < N; ++i)
        if (x[i] > 0.0f) out[kept++] = x[i];
}
//% endif

__global__ void offsets(int* work) {
//% if tree
    __shared__ int shares[1024];
    const int share = (CHUNKS + 1023) / 1024, first = threadIdx.x * share;
    int sum = 0;
    for (int k = first; k < first + share && k < CHUNKS; ++k) sum += work[k];
    shares[threadIdx.x] = sum;
    for (int k = 1; k < 1024; k *= 2) {
        __syncthreads();
        const int other = threadIdx.x >= k ? shares[threadIdx.x - k] : 0;
        __syncthreads();
        shares[threadIdx.x] += other;
    }
    int before = shares[threadIdx.x] - sum;
    for (int k = first; k < first + share && k < CHUNKS; ++k) {
        const int own = work[k];
        work[k] = before;
        before += own;
    }
//% else
    int sum = 0;
    for (int k = 0; k < CHUNKS; ++k) {
        const int own = work[k];
        work[k] = sum;
        sum += own;
    }
//% endif
}
