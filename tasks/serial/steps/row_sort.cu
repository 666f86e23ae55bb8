//: base = block-per-row | | The rows are independent, and a bitonic network sorts one with many threads. | A block for each row, in memory
//: shared = shared-memory-tiling | | Fifty-five passes go through memory. | The row lies in shared memory
//: warp = warp-synchronous-steps | shared | Steps of less than 32 elements need no barrier of the block. | __syncwarp where partners are in one warp
//: wide = block-size | | Half of the comparisons wait for the other half. | 512 threads instead of 128
/* kernelwright
[constants]
THREADS = "${512 if wide else 128}"

[[launch]]
kernel = "row_sort"
grid = "in0.shape[0]"
block = "THREADS"
arguments = ["in0", "out0"]
*/
__global__ void row_sort(const float* x, float* out) {
    float* to = out + blockIdx.x * 1024LL;
//% if shared
    __shared__ float row[1024];
//% else
    float* row = to;
//% endif
    for (int i = threadIdx.x; i < 1024; i += THREADS) row[i] = x[blockIdx.x * 1024LL + i];
    for (int size = 2; size <= 1024; size *= 2)
        for (int step = size / 2; step > 0; step /= 2) {
//% if warp
            if (THREADS < 512 || step >= 16 || step == size / 2) __syncthreads();
            else __syncwarp();
//% else
            __syncthreads();
//% endif
            for (int i = threadIdx.x; i < 512; i += THREADS) {
                const int low = i / step * 2 * step + i % step, high = low + step;
                const bool up = (low & size) == 0;
                const float a = row[low], b = row[high];
                if ((a > b) == up) {
                    row[low] = b;
                    row[high] = a;
                }
            }
        }
//% if shared
    __syncthreads();
    for (int i = threadIdx.x; i < 1024; i += THREADS) to[i] = row[i];
//% endif
}
