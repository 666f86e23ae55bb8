//: base = thread-per-row | | The rows are independent. | A thread for each row
//: block = block-per-row | | Neighbouring threads read whole rows apart, and there are few of them. | A block for each row, its threads side by side
//: warp = warp-shuffle-reduction | block | A tree in shared memory needs a barrier for every level. | Shuffles within warps, one barrier
//: vec = vectorised-loads | block | Four bytes a load keep the load units busier than memory. | float4 where the pointers allow it
//: acc = independent-accumulators | | Each comparison waits for the one before it. | Two maxima side by side
/* kernelwright
[constants]
COLUMNS = "in0.shape[1]"
ROWS = "in0.shape[0]"

[[launch]]
kernel = "row_max"
grid = "${'ROWS' if block else 'ceil_div(ROWS, 128)'}"
block = ${256 if block else 128}
arguments = ["in0", "out0"]
*/
#define LEAST __int_as_float(0xff800000)

__global__ void row_max(const float* x, float* out) {
//% if block
    const int row = blockIdx.x, first = threadIdx.x, step = 256;
//% else
    const int row = blockIdx.x * 128 + threadIdx.x, first = 0, step = 1;
    if (row >= ROWS) return;
//% endif
    const float* from = x + row * (long long)COLUMNS;
    float most = LEAST;
    int j = first;
//% if vec
    if ((unsigned long long)from % 16 == 0 && COLUMNS % 4 == 0) {
        for (j = first * 4; j < COLUMNS; j += step * 4) {
            const float4 v = *(const float4*)(from + j);
            most = fmaxf(most, fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)));
        }
    }
//% endif
//% if acc
    float other = LEAST;
    for (; j + step < COLUMNS; j += 2 * step) {
        most = fmaxf(most, from[j]);
        other = fmaxf(other, from[j + step]);
    }
    most = fmaxf(most, other);
//% endif
    for (; j < COLUMNS; j += step) most = fmaxf(most, from[j]);
//% if block
//% if warp
    __shared__ float meet[8];
    for (int k = 16; k > 0; k /= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, k));
    if (threadIdx.x % 32 == 0) meet[threadIdx.x / 32] = most;
    __syncthreads();
    if (threadIdx.x > 0) return;
    for (int k = 1; k < 8; ++k) most = fmaxf(most, meet[k]);
//% else
    __shared__ float meet[256];
    meet[threadIdx.x] = most;
    for (int k = 128; k > 0; k /= 2) {
        __syncthreads();
        if (threadIdx.x < k) meet[threadIdx.x] = fmaxf(meet[threadIdx.x], meet[threadIdx.x + k]);
    }
    if (threadIdx.x > 0) return;
    most = meet[0];
//% endif
//% endif
    out[row] = most;
}
