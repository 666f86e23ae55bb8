/* kernelwright
[[launch]]
kernel = "kernel"
grid = "in1.numel"
block = 256
arguments = ["in0", "in1", "out0"]
*/
extern "C" __global__ void kernel(const float* table, const long long* rows, float* out) {
    out[blockIdx.x * 256LL + threadIdx.x] = table[rows[blockIdx.x] * 256 + threadIdx.x];
}
