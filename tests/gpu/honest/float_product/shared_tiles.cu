/* kernelwright
[constants]
N = "in1.shape[1]"
K = "in0.shape[1]"

[[launch]]
kernel = "kernel"
grid = ["in1.shape[1] // 16", "in0.shape[0] // 16"]
block = [16, 16]
arguments = ["in0", "in1", "out0"]
*/
extern "C" __global__ void kernel(const float* a, const float* b, float* out) {
    __shared__ float left[16][16], right[16][17];
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    float sum = 0.0f;
    for (int start = 0; start < K; start += 16) {
        left[threadIdx.y][threadIdx.x] = float(a[row * K + start + threadIdx.x]);
        right[threadIdx.y][threadIdx.x] = float(b[(start + threadIdx.y) * N + column]);
        __syncthreads();
        for (int k = 0; k < 16; ++k) sum += left[threadIdx.y][k] * right[k][threadIdx.x];
        __syncthreads();
    }
    out[row * N + column] = float(sum);
}
