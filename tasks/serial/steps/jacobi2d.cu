//: base = thread-per-element | | The points are independent. | A thread for each, neighbours down a column
//: coalesced = coalesced-access | | Neighbouring threads read whole rows apart. | Neighbours along a row
//: tile = shared-memory-tiling | coalesced | Every point is read five times. | The block copies its points and their rim to shared memory
//: march = thread-coarsening | coalesced !tile | Rows above and below are read again by other threads. | A thread goes down eight rows and keeps three points in registers
//: hints = streaming-stores | coalesced | The result is not read again and pushes the grid out of the cache. | __stcs
/* kernelwright
[constants]
ROWS = "in0.shape[0]"
COLUMNS = "in0.shape[1]"

[[launch]]
kernel = "jacobi"
//% if march
grid = ["ceil_div(COLUMNS, 128)", "ceil_div(ROWS, 8)"]
block = 128
//% elif coalesced
grid = ["ceil_div(COLUMNS, 32)", "ceil_div(ROWS, 8)"]
block = [32, 8]
//% else
grid = ["ceil_div(COLUMNS, 8)", "ceil_div(ROWS, 32)"]
block = [32, 8]
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

__global__ void jacobi(const float* x, float* out) {
//% if march
    const int j = blockIdx.x * 128 + threadIdx.x, first = blockIdx.y * 8;
    if (j >= COLUMNS) return;
    float above = first > 0 ? x[(first - 1) * (long long)COLUMNS + j] : 0.0f, here = x[first * (long long)COLUMNS + j];
    for (int i = first; i < first + 8 && i < ROWS; ++i) {
        const long long at = i * (long long)COLUMNS + j;
        const float below = i + 1 < ROWS ? x[at + COLUMNS] : 0.0f;
        const bool inner = i > 0 && j > 0 && i + 1 < ROWS && j + 1 < COLUMNS;
        put(out + at, inner ? 0.2f * (here + x[at - 1] + x[at + 1] + above + below) : here);
        above = here;
        here = below;
    }
//% else
//% if coalesced
    const int j = blockIdx.x * 32 + threadIdx.x, i = blockIdx.y * 8 + threadIdx.y;
//% else
    const int i = blockIdx.y * 32 + threadIdx.x, j = blockIdx.x * 8 + threadIdx.y;
//% endif
    const long long at = i * (long long)COLUMNS + j;
//% if tile
    __shared__ float near[10][34];
    for (int k = threadIdx.y * 32 + threadIdx.x; k < 10 * 34; k += 256) {
        const int y = (int)blockIdx.y * 8 + k / 34 - 1, z = (int)blockIdx.x * 32 + k % 34 - 1;
        near[k / 34][k % 34] = y >= 0 && z >= 0 && y < ROWS && z < COLUMNS ? x[y * (long long)COLUMNS + z] : 0.0f;
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
    put(out + at, inner ? 0.2f * (x[at] + x[at - 1] + x[at + 1] + x[at - COLUMNS] + x[at + COLUMNS]) : x[at]);
//% endif
//% endif
}
