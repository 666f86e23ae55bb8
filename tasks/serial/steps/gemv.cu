//: base = thread-per-row | | The rows are independent. | A thread for each row
//: warp = warp-per-row | | Neighbouring threads read whole rows apart. | A warp for each row, its lanes side by side, and a sum by shuffles
//: vec = vectorised-loads | warp | Four bytes a load keep the load units busier than memory. | float4 where the pointers allow it
//: acc = independent-accumulators | | Each product waits for the sum before it. | Two sums side by side
//: shared = shared-memory-tiling | | Every row reads the vector again. | The block copies the vector to shared memory once
/* kernelwright
[constants]
COLUMNS = "in0.shape[1]"
ROWS = "in0.shape[0]"

[[launch]]
kernel = "gemv"
grid = "ceil_div(ROWS, ${8 if warp else 256})"
block = 256
arguments = ["in0", "in1", "out0"]
*/
__global__ void gemv(const float* a, const float* vector, float* out) {
//% if shared
    __shared__ __align__(16) float x[COLUMNS];
    for (int j = threadIdx.x; j < COLUMNS; j += 256) x[j] = vector[j];
    __syncthreads();
//% else
    const float* x = vector;
//% endif
//% if warp
    const int row = blockIdx.x * 8 + threadIdx.x / 32, first = threadIdx.x % 32, step = 32;
//% else
    const int row = blockIdx.x * 256 + threadIdx.x, first = 0, step = 1;
//% endif
    if (row >= ROWS) return;
    const float* from = a + row * (long long)COLUMNS;
    float sum = 0.0f;
    int j = first;
//% if vec
    if (((unsigned long long)from | (unsigned long long)x) % 16 == 0 && COLUMNS % 4 == 0) {
        for (j = first * 4; j < COLUMNS; j += step * 4) {
            const float4 l = *(const float4*)(from + j), r = *(const float4*)(x + j);
            sum += l.x * r.x + l.y * r.y + l.z * r.z + l.w * r.w;
        }
    }
//% endif
//% if acc
    float other = 0.0f;
    for (; j + step < COLUMNS; j += 2 * step) {
        sum += from[j] * x[j];
        other += from[j + step] * x[j + step];
    }
    sum += other;
//% endif
    for (; j < COLUMNS; j += step) sum += from[j] * x[j];
//% if warp
    for (int k = 16; k > 0; k /= 2) sum += __shfl_down_sync(0xffffffff, sum, k);
    if (first > 0) return;
//% endif
    out[row] = sum;
}
