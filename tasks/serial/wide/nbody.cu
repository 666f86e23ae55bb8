//: base = thread-per-row | | The bodies are independent. | A thread for each body
//: tile = shared-memory-tiling | | Every thread reads every body from memory. | The block copies a block of bodies at a time to shared memory
//: fast = fast-intrinsics | | A division and a square root take the exact, long way. | rsqrtf, and its cube
//: split = split-reduction | | Two dozen blocks are far too few for the device. | Eight blocks share a body's sum and add atomically
//: more = avoid-atomics | split | Eight sums of a body meet in one place. | Two blocks share a body's sum
//: unroll = loop-unrolling | | The loop's own instructions are a third of it. | #pragma unroll 8
//: small = block-size | | A block of 128 threads leaves multiprocessors without one. | Sixty-four threads
//: twice = register-blocking | | Each body that is read serves one other. | Two bodies for each thread
/* kernelwright
zeroed_outputs = [0]

[constants]
N = "in1.numel"
PARTS = "${(2 if more else 8) if split else 1}"
B = "${64 if small else 128}"
OWN = "${2 if twice else 1}"

[[launch]]
kernel = "nbody"
grid = ["ceil_div(N, B * OWN)", "PARTS"]
block = ${64 if small else 128}
arguments = ["in0", "in1", "out0"]
*/
__global__ void nbody(const float* position, const float* mass, float* out) {
    const int part = (N + PARTS - 1) / PARTS, begin = blockIdx.y * part, end = min(begin + part, N);
    float x[OWN], y[OWN], z[OWN], ax[OWN], ay[OWN], az[OWN];
#pragma unroll
    for (int o = 0; o < OWN; ++o) {
        const int i = (blockIdx.x * OWN + o) * B + threadIdx.x, own = i < N ? i : 0;
        x[o] = position[3 * own], y[o] = position[3 * own + 1], z[o] = position[3 * own + 2];
        ax[o] = ay[o] = az[o] = 0.0f;
    }
//% if tile
    __shared__ float4 near[B];
    for (int start = begin; start < end; start += B) {
        const int k = start + threadIdx.x;
        __syncthreads();
        near[threadIdx.x] = k < end ? make_float4(position[3 * k], position[3 * k + 1], position[3 * k + 2], mass[k])
                                    : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        __syncthreads();
        const int first = 0, last = B;
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
#pragma unroll
            for (int o = 0; o < OWN; ++o) {
                const float dx = b.x - x[o], dy = b.y - y[o], dz = b.z - z[o];
                const float square = dx * dx + dy * dy + dz * dz + 0.01f;
//% if fast
                const float root = rsqrtf(square), pull = b.w * root * root * root;
//% else
                const float pull = b.w / (square * sqrtf(square));
//% endif
                ax[o] += dx * pull;
                ay[o] += dy * pull;
                az[o] += dz * pull;
            }
        }
    }
#pragma unroll
    for (int o = 0; o < OWN; ++o) {
        const int i = (blockIdx.x * OWN + o) * B + threadIdx.x;
        if (i >= N) continue;
//% if split
        atomicAdd(out + 3 * i, ax[o]);
        atomicAdd(out + 3 * i + 1, ay[o]);
        atomicAdd(out + 3 * i + 2, az[o]);
//% else
        out[3 * i] = ax[o];
        out[3 * i + 1] = ay[o];
        out[3 * i + 2] = az[o];
//% endif
    }
}
