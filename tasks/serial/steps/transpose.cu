//: base = thread-per-element | | The elements are independent. | A thread for each, reads side by side, writes apart
//: tile = shared-memory-transposition | | Each write touches a sector of its own. | Tiles of 32 x 32 turn in shared memory
//: pad = bank-conflict-padding | tile | A column of the tile lies in one bank. | A tile of 33 columns
//: coarse = thread-coarsening | | A thread of one element is mostly index arithmetic. | Four elements a thread
/* kernelwright
[constants]
ROWS = "in0.shape[0]"
COLUMNS = "in0.shape[1]"
DOWN = "${8 if coarse else 32}"

[[launch]]
kernel = "transpose"
grid = ["ceil_div(COLUMNS, 32)", "ceil_div(ROWS, 32)"]
block = [32, "DOWN"]
arguments = ["in0", "out0"]
*/
__global__ void transpose(const float* x, float* out) {
    const int column = blockIdx.x * 32 + threadIdx.x, first = blockIdx.y * 32;
//% if tile
    __shared__ float tile[32][${33 if pad else 32}];
    for (int y = threadIdx.y; y < 32; y += DOWN)
        if (first + y < ROWS && column < COLUMNS) tile[y][threadIdx.x] = x[(first + y) * (long long)COLUMNS + column];
    __syncthreads();
    const int to = first + threadIdx.x;
    for (int y = threadIdx.y; y < 32; y += DOWN)
        if (blockIdx.x * 32 + y < COLUMNS && to < ROWS) out[(blockIdx.x * 32 + y) * (long long)ROWS + to] = tile[threadIdx.x][y];
//% else
    for (int y = threadIdx.y; y < 32; y += DOWN)
        if (first + y < ROWS && column < COLUMNS)
            out[column * (long long)ROWS + first + y] = x[(first + y) * (long long)COLUMNS + column];
//% endif
}
