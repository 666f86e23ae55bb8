//: base = thread-per-row | | The rows are independent. | A thread for each row, three passes
//: block = block-per-row | | Neighbouring threads read whole rows apart, and there are few of them. | A block for each row, its threads side by side
//: warp = warp-shuffle-reduction | block | A tree in shared memory needs a barrier for every level. | Shuffles within warps, one barrier
//: online = online-softmax | | The row is read three times. | Maximum and sum in one pass: the sum is rescaled where the maximum grows
//: regs = row-in-registers | block | Every pass reads the row from memory again. | A thread keeps its share of the row
/* kernelwright
[constants]
COLUMNS = "in0.shape[1]"
ROWS = "in0.shape[0]"

[[launch]]
kernel = "softmax_rows"
grid = "${'ROWS' if block else 'ceil_div(ROWS, 64)'}"
block = ${256 if block else 64}
arguments = ["in0", "out0"]
*/
#define LEAST __int_as_float(0xff800000)
#define SHARE ((COLUMNS + 255) / 256)

//% if block
template <bool MOST>
__device__ float met(float value) {
//% if warp
    __shared__ float meet[8];
    for (int k = 16; k > 0; k /= 2) {
        const float other = __shfl_xor_sync(0xffffffff, value, k);
        value = MOST ? fmaxf(value, other) : value + other;
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0) meet[threadIdx.x / 32] = value;
    __syncthreads();
    value = meet[0];
    for (int k = 1; k < 8; ++k) value = MOST ? fmaxf(value, meet[k]) : value + meet[k];
    return value;
//% else
    __shared__ float meet[256];
    __syncthreads();
    meet[threadIdx.x] = value;
    for (int k = 128; k > 0; k /= 2) {
        __syncthreads();
        if (threadIdx.x < k) {
            const float other = meet[threadIdx.x + k];
            meet[threadIdx.x] = MOST ? fmaxf(meet[threadIdx.x], other) : meet[threadIdx.x] + other;
        }
    }
    __syncthreads();
    return meet[0];
//% endif
}
//% endif

__global__ void softmax_rows(const float* x, float* out) {
//% if block
    const int row = blockIdx.x, first = threadIdx.x, step = 256;
//% else
    const int row = blockIdx.x * 64 + threadIdx.x, first = 0, step = 1;
    if (row >= ROWS) return;
//% endif
    const float* from = x + row * (long long)COLUMNS;
    float* to = out + row * (long long)COLUMNS;
    float most = LEAST, sum = 0.0f;
//% if regs
    float kept[SHARE];
#pragma unroll
    for (int k = 0; k < SHARE; ++k) kept[k] = first + k * 256 < COLUMNS ? from[first + k * 256] : LEAST;
//% endif
//% if online
//% if regs
#pragma unroll
    for (int k = 0; k < SHARE; ++k) {
        const float v = kept[k];
//% else
    for (int j = first; j < COLUMNS; j += step) {
        const float v = from[j];
//% endif
        if (v > most) {
            sum *= expf(most - v);
            most = v;
        }
        if (v > LEAST) sum += expf(v - most);
    }
//% if block
    const float own = most;
    most = met<true>(most);
    sum = met<false>(own > LEAST ? sum * expf(own - most) : 0.0f);
//% endif
//% else
//% if regs
#pragma unroll
    for (int k = 0; k < SHARE; ++k) most = fmaxf(most, kept[k]);
    most = met<true>(most);
#pragma unroll
    for (int k = 0; k < SHARE; ++k) sum += expf(kept[k] - most);
    sum = met<false>(sum);
//% else
    for (int j = first; j < COLUMNS; j += step) most = fmaxf(most, from[j]);
//% if block
    most = met<true>(most);
//% endif
    for (int j = first; j < COLUMNS; j += step) sum += expf(from[j] - most);
//% if block
    sum = met<false>(sum);
//% endif
//% endif
//% endif
//% if regs
#pragma unroll
    for (int k = 0; k < SHARE; ++k)
        if (first + k * 256 < COLUMNS) to[first + k * 256] = expf(kept[k] - most) / sum;
//% else
    for (int j = first; j < COLUMNS; j += step) to[j] = expf(from[j] - most) / sum;
//% endif
}
