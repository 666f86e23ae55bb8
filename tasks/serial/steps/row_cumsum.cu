//: base = thread-per-row | | The rows are independent. | A thread for each row
//: block = block-per-row | | Neighbouring threads read whole rows apart, and there are few of them. | A block for each row, doubling steps in shared memory
//: warp = warp-scan | block | Every doubling step has two barriers. | Shuffles within warps, then the warps' totals
//: four = thread-coarsening | block | A part of 256 elements for all those barriers. | Four elements a thread
/* kernelwright
[constants]
ROWS = "in0.shape[0]"
COLUMNS = "in0.shape[1]"
EACH = "${4 if four else 1}"

[[launch]]
kernel = "row_cumsum"
grid = "${'ROWS' if block else 'ceil_div(ROWS, 64)'}"
block = ${256 if block else 64}
arguments = ["in0", "out0"]
*/
__global__ void row_cumsum(const float* x, float* out) {
//% if block
    const float* from = x + blockIdx.x * (long long)COLUMNS;
    float* to = out + blockIdx.x * (long long)COLUMNS;
    __shared__ float meet[256];
    float carried = 0.0f;
    for (int start = 0; start < COLUMNS; start += 256 * EACH) {
        const int first = start + threadIdx.x * EACH;
        float own[EACH], sum = 0.0f;
        for (int k = 0; k < EACH; ++k) own[k] = sum += first + k < COLUMNS ? from[first + k] : 0.0f;
        float value = sum;
//% if warp
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
        for (int k = 1; k < 32; k *= 2) {
            const float other = __shfl_up_sync(0xffffffff, value, k);
            if (lane >= k) value += other;
        }
        if (lane == 31) meet[warp] = value;
        __syncthreads();
        float total = 0.0f;
        for (int k = 0; k < 8; ++k) {
            if (k < warp) value += meet[k];
            total += meet[k];
        }
//% else
        meet[threadIdx.x] = value;
        for (int k = 1; k < 256; k *= 2) {
            __syncthreads();
            const float other = threadIdx.x >= k ? meet[threadIdx.x - k] : 0.0f;
            __syncthreads();
            meet[threadIdx.x] += other;
        }
        __syncthreads();
        value = meet[threadIdx.x];
        const float total = meet[255];
//% endif
        for (int k = 0; k < EACH; ++k)
            if (first + k < COLUMNS) to[first + k] = carried + value - sum + own[k];
        carried += total;
        __syncthreads();
    }
//% else
    const int row = blockIdx.x * 64 + threadIdx.x;
    if (row >= ROWS) return;
    float sum = 0.0f;
    for (int j = 0; j < COLUMNS; ++j) out[row * (long long)COLUMNS + j] = sum += x[row * (long long)COLUMNS + j];
//% endif
}
