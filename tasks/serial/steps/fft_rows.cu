//: base = block-per-row | | The rows are independent, and a stage's butterflies are too. | A block of 128 threads for each row, in memory
//: shared = shared-memory-tiling | | Eight stages go through memory. | The row lies in shared memory
//: table = precomputed-table | | Sine and cosine are computed for every butterfly. | 128 turns in shared memory, computed once a block
//: brev = fast-intrinsics | | The bit reversal is a loop of eight. | __brev
/* kernelwright
[[launch]]
kernel = "fft_rows"
grid = "in0.shape[0]"
block = 128
arguments = ["in0", "out0"]
*/
__global__ void fft_rows(const float* x, float* out) {
    float* to = out + blockIdx.x * 512LL;
//% if shared
    __shared__ float row[512];
//% else
    float* row = to;
//% endif
//% if table
    __shared__ float turn[256];
    sincospif(-2.0f * threadIdx.x / 256, &turn[2 * threadIdx.x + 1], &turn[2 * threadIdx.x]);
//% endif
    for (int i = threadIdx.x; i < 256; i += 128) {
//% if brev
        const int j = __brev(i) >> 24;
//% else
        int j = 0;
        for (int b = 0; b < 8; ++b) j |= (i >> b & 1) << (7 - b);
//% endif
        row[2 * j] = x[blockIdx.x * 512LL + 2 * i];
        row[2 * j + 1] = x[blockIdx.x * 512LL + 2 * i + 1];
    }
    for (int half = 1; half < 256; half *= 2) {
        __syncthreads();
        const int k = threadIdx.x % half, low = 2 * (threadIdx.x / half * 2 * half + k), high = low + 2 * half;
//% if table
        const float c = turn[2 * (k * (128 / half))], s = turn[2 * (k * (128 / half)) + 1];
//% else
        float c, s;
        sincospif(-2.0f * (k * (128 / half)) / 256, &s, &c);
//% endif
        const float re = row[high] * c - row[high + 1] * s, im = row[high] * s + row[high + 1] * c;
        row[high] = row[low] - re;
        row[high + 1] = row[low + 1] - im;
        row[low] += re;
        row[low + 1] += im;
    }
//% if shared
    __syncthreads();
    for (int i = threadIdx.x; i < 512; i += 128) to[i] = row[i];
//% endif
}
