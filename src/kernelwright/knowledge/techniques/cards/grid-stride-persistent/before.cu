/* kernelwright
[constants]
COLUMNS = "in0.shape[1]"

[[launch]]
kernel = "scaled"
grid = "in0.shape[0]"
block = 256
arguments = ["in0", "in1", "in2", "out0"]
*/
__global__ void scaled(const float* __restrict__ x, const float* __restrict__ scale, const float* __restrict__ shift,
                       float* __restrict__ out) {
    const long long row = blockIdx.x * (long long)COLUMNS;
#pragma unroll
    for (int i = threadIdx.x; i < COLUMNS; i += 256) out[row + i] = fmaxf(x[row + i] * scale[i] + shift[i], 0.0f);
}
