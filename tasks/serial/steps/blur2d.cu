//: base = thread-per-element | | The pixels are independent. | A thread for each, neighbours along a row
//: tile = shared-memory-tiling | | Every pixel is read eighty-one times. | The block copies its pixels and their rim to shared memory
//: separable = algorithmic-change | tile | A box is a row of a column: eighty-one additions are eighteen. | Sums along rows first, kept in shared memory, then down columns
//: unroll = loop-unrolling | | The loops' own instructions are half of them. | #pragma unroll
//: product = strength-reduction | | A division for every pixel. | A product with the reciprocal
/* kernelwright
[constants]
ROWS = "out0.shape[0]"
COLUMNS = "out0.shape[1]"

[[launch]]
kernel = "blur"
grid = ["ceil_div(COLUMNS, 32)", "ceil_div(ROWS, 16)"]
block = [32, 16]
arguments = ["in0", "out0"]
*/
//% if unroll
#define UNROLL _Pragma("unroll")
//% else
#define UNROLL _Pragma("unroll 1")
//% endif
#define WIDE (COLUMNS + 8)

__global__ void blur(const float* x, float* out) {
    const int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 32 + threadIdx.x;
    float sum = 0.0f;
//% if tile
    __shared__ float near[24][40];
    for (int k = threadIdx.y * 32 + threadIdx.x; k < 24 * 40; k += 512) {
        const int y = blockIdx.y * 16 + k / 40, z = blockIdx.x * 32 + k % 40;
        near[k / 40][k % 40] = y < ROWS + 8 && z < WIDE ? x[y * WIDE + z] : 0.0f;
    }
    __syncthreads();
//% if separable
    __shared__ float lines[24][32];
    for (int y = threadIdx.y; y < 24; y += 16) {
        float line = 0.0f;
        UNROLL for (int b = 0; b < 9; ++b) line += near[y][threadIdx.x + b];
        lines[y][threadIdx.x] = line;
    }
    __syncthreads();
    UNROLL for (int a = 0; a < 9; ++a) sum += lines[threadIdx.y + a][threadIdx.x];
//% else
    UNROLL for (int a = 0; a < 9; ++a)
        UNROLL for (int b = 0; b < 9; ++b) sum += near[threadIdx.y + a][threadIdx.x + b];
//% endif
    if (i >= ROWS || j >= COLUMNS) return;
//% else
    if (i >= ROWS || j >= COLUMNS) return;
    UNROLL for (int a = 0; a < 9; ++a)
        UNROLL for (int b = 0; b < 9; ++b) sum += x[(i + a) * WIDE + j + b];
//% endif
//% if product
    out[i * COLUMNS + j] = sum * (1.0f / 81.0f);
//% else
    out[i * COLUMNS + j] = sum / 81.0f;
//% endif
}
