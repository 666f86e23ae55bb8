/* kernelwright
[constants]
COLUMNS = "in1.shape[1]"
INNER = "in0.shape[1]"

[[launch]]
kernel = "product"
grid = ["COLUMNS // 64", "in0.shape[0] // 64"]
block = 128
arguments = ["in0", "in1", "out0"]
*/
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;
#define DEPTH 32

__global__ void product(const half* a, const half* b, half* out) {
    __shared__ __align__(32) half left[64][DEPTH + 16], right[DEPTH][64 + 16];
    __shared__ __align__(32) float result[64][64 + 8];
    const int down = blockIdx.y * 64, across = blockIdx.x * 64;
    const int row = threadIdx.x / 64 * 32, column = threadIdx.x / 32 % 2 * 32;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums[2][2];
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j) wmma::fill_fragment(sums[i][j], 0.0f);
    for (int start = 0; start < INNER; start += DEPTH) {
        for (int i = threadIdx.x; i < 64 * DEPTH; i += 128) {
            left[i / DEPTH][i % DEPTH] = a[(down + i / DEPTH) * INNER + start + i % DEPTH];
            right[i / 64][i % 64] = b[(start + i / 64) * COLUMNS + across + i % 64];
        }
        __syncthreads();
        for (int k = 0; k < DEPTH; k += 16) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> l[2];
            wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> r[2];
            for (int i = 0; i < 2; ++i) {
                wmma::load_matrix_sync(l[i], &left[row + 16 * i][k], DEPTH + 16);
                wmma::load_matrix_sync(r[i], &right[k][column + 16 * i], 64 + 16);
            }
            for (int i = 0; i < 2; ++i)
                for (int j = 0; j < 2; ++j) wmma::mma_sync(sums[i][j], l[i], r[j], sums[i][j]);
        }
        __syncthreads();
    }
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j)
            wmma::store_matrix_sync(&result[row + 16 * i][column + 16 * j], sums[i][j], 64 + 8, wmma::mem_row_major);
    __syncthreads();
    for (int i = threadIdx.x; i < 64 * 64; i += 128)
        out[(down + i / 64) * COLUMNS + across + i % 64] = __float2half(result[i / 64][i % 64]);
}
