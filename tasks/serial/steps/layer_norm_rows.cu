//: base = thread-per-row | | The rows are independent. | A thread for each row, three passes
//: block = block-per-row | | Neighbouring threads read whole rows apart, and there are few of them. | A block for each row, its threads side by side
//: warp = warp-shuffle-reduction | block | A tree in shared memory needs a barrier for every level. | Shuffles within warps, one barrier
//: regs = row-in-registers | block | Every pass reads the row from memory again. | A thread keeps its share of the row
//: one = fused-passes | | Mean and variance take a pass each. | Sum and sum of squares in one pass
/* kernelwright
[constants]
COLUMNS = "in0.shape[1]"
ROWS = "in0.shape[0]"

[[launch]]
kernel = "layer_norm_rows"
grid = "${'ROWS' if block else 'ceil_div(ROWS, 64)'}"
block = ${256 if block else 64}
arguments = ["in0", "out0"]
*/
#define SHARE ((COLUMNS + 255) / 256)

__device__ float met(float value) {
//% if not block
    return value;
//% elif warp
    __shared__ float meet[8];
    for (int k = 16; k > 0; k /= 2) value += __shfl_xor_sync(0xffffffff, value, k);
    __syncthreads();
    if (threadIdx.x % 32 == 0) meet[threadIdx.x / 32] = value;
    __syncthreads();
    value = meet[0];
    for (int k = 1; k < 8; ++k) value += meet[k];
    return value;
//% else
    __shared__ float meet[256];
    __syncthreads();
    meet[threadIdx.x] = value;
    for (int k = 128; k > 0; k /= 2) {
        __syncthreads();
        if (threadIdx.x < k) meet[threadIdx.x] += meet[threadIdx.x + k];
    }
    __syncthreads();
    return meet[0];
//% endif
}

__global__ void layer_norm_rows(const float* x, float* out) {
//% if block
    const int row = blockIdx.x, first = threadIdx.x, step = 256;
//% else
    const int row = blockIdx.x * 64 + threadIdx.x, first = 0, step = 1;
    if (row >= ROWS) return;
//% endif
    const float* from = x + row * (long long)COLUMNS;
    float* to = out + row * (long long)COLUMNS;
//% if regs
    float kept[SHARE];
#pragma unroll
    for (int k = 0; k < SHARE; ++k) kept[k] = first + k * 256 < COLUMNS ? from[first + k * 256] : 0.0f;
#define EACH _Pragma("unroll") for (int k = 0; k < SHARE; ++k) if (const int j = first + k * 256; j < COLUMNS)
#define ELEMENT kept[k]
//% else
#define EACH for (int j = first; j < COLUMNS; j += step)
#define ELEMENT from[j]
//% endif
    float sum = 0.0f, squares = 0.0f;
//% if one
    EACH {
        const float v = ELEMENT;
        sum += v;
        squares += v * v;
    }
    const float mean = met(sum) / COLUMNS;
    const float variance = met(squares) / COLUMNS - mean * mean;
//% else
    EACH sum += ELEMENT;
    const float mean = met(sum) / COLUMNS;
    EACH squares += (ELEMENT - mean) * (ELEMENT - mean);
    const float variance = met(squares) / COLUMNS;
//% endif
    const float scale = rsqrtf(variance + 1e-5f);
    EACH to[j] = (ELEMENT - mean) * scale;
}
