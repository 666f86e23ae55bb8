/* kernelwright
[constants]
ROWS = "in0.shape[0]"
COLUMNS = "in0.shape[1]"

[[launch]]
kernel = "scaled"
grid = "min(ROWS, 6 * multiprocessors)"
block = 256
arguments = ["in0", "in1", "in2", "out0"]
*/
#define EACH ((COLUMNS + 255) / 256)

__global__ void scaled(const float* __restrict__ x, const float* __restrict__ scale, const float* __restrict__ shift,
                       float* __restrict__ out) {
    float scales[EACH], shifts[EACH];
#pragma unroll
    for (int j = 0; j < EACH; ++j) {
        const int i = j * 256 + threadIdx.x;
        scales[j] = i < COLUMNS ? scale[i] : 0.0f;
        shifts[j] = i < COLUMNS ? shift[i] : 0.0f;
    }
    for (int row = blockIdx.x; row < ROWS; row += gridDim.x) {
#pragma unroll
        for (int j = 0; j < EACH; ++j) {
            const int i = j * 256 + threadIdx.x;
            const long long at = row * (long long)COLUMNS + i;
            if (i < COLUMNS) out[at] = fmaxf(x[at] * scales[j] + shifts[j], 0.0f);
        }
    }
}
