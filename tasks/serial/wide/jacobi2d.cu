//: base = thread-per-element | | The points are independent. | A thread for each, neighbours down a column
//: coalesced = coalesced-access | | Neighbouring threads read whole rows apart. | Neighbours along a row
//: tile = shared-memory-tiling | coalesced !march | Every point is read five times. | The block copies its points and their rim to shared memory
//: march = thread-coarsening | coalesced !tile | Rows above and below are read again by other threads. | A thread goes down eight rows and keeps three points in registers
//: long = register-blocking | march | The first rows of every stretch are read twice. | Thirty-two rows
//: hints = streaming-stores | coalesced | The result is not read again and pushes the grid out of the cache. | __stcs
//: only = read-only-cache | | Neighbours share what they read. | __ldg
//: small = block-size | | A block of 256 threads ends with its slowest warp. | Half as many threads
//: unroll = loop-unrolling | march | Each row waits for the one before it. | #pragma unroll 8
/* kernelwright
[constants]
ROWS = "in0.shape[0]"
COLUMNS = "in0.shape[1]"
TALL = "${4 if small else 8}"
WIDE = "${64 if small else 128}"
DOWN = "${32 if long else 8}"

[[launch]]
kernel = "jacobi"
//% if march
grid = ["ceil_div(COLUMNS, WIDE)", "ceil_div(ROWS, DOWN)"]
block = ${64 if small else 128}
//% elif coalesced
grid = ["ceil_div(COLUMNS, 32)", "ceil_div(ROWS, TALL)"]
block = [32, ${4 if small else 8}]
//% else
grid = ["ceil_div(COLUMNS, TALL)", "ceil_div(ROWS, 32)"]
block = [32, ${4 if small else 8}]
//% endif
arguments = ["in0", "out0"]
*/
__device__ void put(float* p, float value) {
//% if hints
    __stcs(p, value);
//% else
    *p = value;
//% endif
}

__device__ float get(const float* p) {
//% if only
    return __ldg(p);
//% else
    return *p;
//% endif
}

__global__ void jacobi(const float* x, float* out) {
//% if march
    const int j = blockIdx.x * WIDE + threadIdx.x, first = blockIdx.y * DOWN;
    if (j >= COLUMNS) return;
    float above = first > 0 ? get(x + (first - 1) * (long long)COLUMNS + j) : 0.0f;
    float here = get(x + first * (long long)COLUMNS + j);
//% if unroll
#pragma unroll 8
//% else
#pragma unroll 1
//% endif
    for (int i = first; i < first + DOWN; ++i) {
        if (i >= ROWS) break;
        const long long at = i * (long long)COLUMNS + j;
        const float below = i + 1 < ROWS ? get(x + at + COLUMNS) : 0.0f;
        const bool inner = i > 0 && j > 0 && i + 1 < ROWS && j + 1 < COLUMNS;
        put(out + at, inner ? 0.2f * (here + get(x + at - 1) + get(x + at + 1) + above + below) : here);
        above = here;
        here = below;
    }
//% else
//% if coalesced
    const int j = blockIdx.x * 32 + threadIdx.x, i = blockIdx.y * TALL + threadIdx.y;
//% else
    const int i = blockIdx.y * 32 + threadIdx.x, j = blockIdx.x * TALL + threadIdx.y;
//% endif
    const long long at = i * (long long)COLUMNS + j;
//% if tile
    __shared__ float near[TALL + 2][34];
    for (int k = threadIdx.y * 32 + threadIdx.x; k < (TALL + 2) * 34; k += TALL * 32) {
        const int y = (int)blockIdx.y * TALL + k / 34 - 1, z = (int)blockIdx.x * 32 + k % 34 - 1;
        near[k / 34][k % 34] = y >= 0 && z >= 0 && y < ROWS && z < COLUMNS ? get(x + y * (long long)COLUMNS + z) : 0.0f;
    }
    __syncthreads();
//% endif
    if (i >= ROWS || j >= COLUMNS) return;
    const bool inner = i > 0 && j > 0 && i + 1 < ROWS && j + 1 < COLUMNS;
//% if tile
    const int y = threadIdx.y + 1, z = threadIdx.x + 1;
    const float here = near[y][z];
    put(out + at, inner ? 0.2f * (here + near[y][z - 1] + near[y][z + 1] + near[y - 1][z] + near[y + 1][z]) : here);
//% else
    const float here = get(x + at);
    const float beside = inner ? get(x + at - 1) + get(x + at + 1) + get(x + at - COLUMNS) + get(x + at + COLUMNS) : 0.0f;
    put(out + at, inner ? 0.2f * (here + beside) : here);
//% endif
//% endif
}
