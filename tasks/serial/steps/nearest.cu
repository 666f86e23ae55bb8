//: base = thread-per-row | | The queries are independent. | A thread for each query
//: tile = shared-memory-tiling | | Every thread reads every point from memory. | The block copies 128 points at a time to shared memory
//: warp = warp-per-row | | A few thousand threads are far too few for the device. | A warp for each query, its lanes over the points, and a minimum by shuffles
//: acc = independent-accumulators | | Each comparison waits for the one before it. | Two minima side by side
/* kernelwright
[constants]
QUERIES = "in0.shape[0]"
POINTS = "in1.shape[0]"

[[launch]]
kernel = "nearest"
grid = "ceil_div(QUERIES, ${4 if warp else 128})"
block = 128
arguments = ["in0", "in1", "out0"]
*/
#define FAR 3.0e38f

__global__ void nearest(const float* query, const float* point, float* out) {
//% if warp
    const int i = blockIdx.x * 4 + threadIdx.x / 32, begin = threadIdx.x % 32, step = 32;
//% else
    const int i = blockIdx.x * 128 + threadIdx.x, begin = 0, step = 1;
//% endif
    const int own = i < QUERIES ? i : 0;
    const float x = query[3 * own], y = query[3 * own + 1], z = query[3 * own + 2];
    float least = FAR, other = FAR;
//% if tile
    __shared__ float near[128][3];
    for (int start = 0; start < POINTS; start += 128) {
        __syncthreads();
        for (int k = threadIdx.x; k < 384; k += 128)
            near[k / 3][k % 3] = start * 3 + k < POINTS * 3 ? point[start * 3 + k] : 1.0e18f;
        __syncthreads();
        const int count = 128;
#define AT(j, c) near[j][c]
//% else
    {
        const int count = POINTS;
#define AT(j, c) point[3 * (j) + (c)]
//% endif
        int j = begin;
//% if acc
        for (; j + step < count; j += 2 * step) {
            const float dx = AT(j, 0) - x, dy = AT(j, 1) - y, dz = AT(j, 2) - z;
            const float ex = AT(j + step, 0) - x, ey = AT(j + step, 1) - y, ez = AT(j + step, 2) - z;
            least = fminf(least, dx * dx + dy * dy + dz * dz);
            other = fminf(other, ex * ex + ey * ey + ez * ez);
        }
//% endif
        for (; j < count; j += step) {
            const float dx = AT(j, 0) - x, dy = AT(j, 1) - y, dz = AT(j, 2) - z;
            least = fminf(least, dx * dx + dy * dy + dz * dz);
        }
    }
    least = fminf(least, other);
//% if warp
    for (int k = 16; k > 0; k /= 2) least = fminf(least, __shfl_xor_sync(0xffffffff, least, k));
    if (begin > 0) return;
//% endif
    if (i < QUERIES) out[i] = least;
}
