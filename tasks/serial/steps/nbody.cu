//: base = thread-per-row | | The bodies are independent. | A thread for each body
//: tile = shared-memory-tiling | | Every thread reads every body from memory. | The block copies 128 bodies at a time to shared memory
//: fast = fast-intrinsics | | A division and a square root take the exact, long way. | rsqrtf, and its cube
//: split = split-reduction | | Twenty-four blocks are far too few for the device. | Eight blocks share a body's sum and add atomically
//: unroll = loop-unrolling | | The loop's own instructions are a third of it. | #pragma unroll 8
/* kernelwright
zeroed_outputs = [0]

[constants]
N = "in1.numel"
PARTS = "${8 if split else 1}"

[[launch]]
kernel = "nbody"
grid = ["ceil_div(N, 128)", "PARTS"]
block = 128
arguments = ["in0", "in1", "out0"]
*/
__global__ void nbody(const float* position, const float* mass, float* out) {
    const int i = blockIdx.x * 128 + threadIdx.x, own = i < N ? i : 0;
    const int part = (N + PARTS - 1) / PARTS, begin = blockIdx.y * part, end = min(begin + part, N);
    const float x = position[3 * own], y = position[3 * own + 1], z = position[3 * own + 2];
    float ax = 0.0f, ay = 0.0f, az = 0.0f;
//% if tile
    __shared__ float4 near[128];
    for (int start = begin; start < end; start += 128) {
        const int k = start + threadIdx.x;
        __syncthreads();
        near[threadIdx.x] = k < end ? make_float4(position[3 * k], position[3 * k + 1], position[3 * k + 2], mass[k])
                                    : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        __syncthreads();
        const int first = 0, last = 128;
//% else
    {
        const int first = begin, last = end;
//% endif
//% if unroll
#pragma unroll 8
//% else
#pragma unroll 1
//% endif
        for (int j = first; j < last; ++j) {
//% if tile
            const float4 b = near[j];
//% else
            const float4 b = make_float4(position[3 * j], position[3 * j + 1], position[3 * j + 2], mass[j]);
//% endif
            const float dx = b.x - x, dy = b.y - y, dz = b.z - z, square = dx * dx + dy * dy + dz * dz + 0.01f;
//% if fast
            const float root = rsqrtf(square), pull = b.w * root * root * root;
//% else
            const float pull = b.w / (square * sqrtf(square));
//% endif
            ax += dx * pull;
            ay += dy * pull;
            az += dz * pull;
        }
    }
    if (i >= N) return;
//% if split
    atomicAdd(out + 3 * i, ax);
    atomicAdd(out + 3 * i + 1, ay);
    atomicAdd(out + 3 * i + 2, az);
//% else
    out[3 * i] = ax;
    out[3 * i + 1] = ay;
    out[3 * i + 2] = az;
//% endif
}
