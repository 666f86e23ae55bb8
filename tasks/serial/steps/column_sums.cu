//: base = thread-per-element | | The columns are independent. | A thread for each column
//: split = split-reduction | | A thousand threads are far too few for the device. | Blocks share a column's rows and add atomically
//: acc = independent-accumulators | | Each addition waits for the one before it. | Four sums side by side
//: block = avoid-atomics | split | Every thread of every block adds to memory. | Eight rows of threads meet in shared memory first
/* kernelwright
zeroed_outputs = [0]

[constants]
COLUMNS = "in0.shape[1]"
ROWS = "in0.shape[0]"
PARTS = "${64 if split else 1}"
DOWN = "${8 if block else 1}"

[[launch]]
kernel = "column_sums"
grid = ["ceil_div(COLUMNS, 32)", "PARTS"]
block = [32, "DOWN"]
arguments = ["in0", "out0"]
*/
__global__ void column_sums(const float* x, float* out) {
    const int column = blockIdx.x * 32 + threadIdx.x;
    const int part = (ROWS + PARTS - 1) / PARTS, first = blockIdx.y * part;
    const int end = min(first + part, ROWS);
    float sum = 0.0f;
    if (column < COLUMNS) {
        int row = first + threadIdx.y;
//% if acc
        float a = 0.0f, b = 0.0f, c = 0.0f;
        for (; row + 3 * DOWN < end; row += 4 * DOWN) {
            sum += x[row * (long long)COLUMNS + column];
            a += x[(row + DOWN) * (long long)COLUMNS + column];
            b += x[(row + 2 * DOWN) * (long long)COLUMNS + column];
            c += x[(row + 3 * DOWN) * (long long)COLUMNS + column];
        }
        sum += a + b + c;
//% endif
        for (; row < end; row += DOWN) sum += x[row * (long long)COLUMNS + column];
    }
//% if block
    __shared__ float sums[DOWN][32];
    sums[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y > 0) return;
    for (int k = 1; k < DOWN; ++k) sum += sums[k][threadIdx.x];
//% endif
    if (column < COLUMNS) {
//% if split
        atomicAdd(out + column, sum);
//% else
        out[column] = sum;
//% endif
    }
}
