// CUDA C++ on the host: three blocks of 256 threads, which share memory, exchange within warps and wait for each other.
constexpr unsigned BLOCKS_HERE = 3, THREADS = 256, ALL = 0xffffffffu;

// takes x; computes x.sum(1); from torch.randn(20, 700)
__global__ void shuffled(const float* x, float* y) {
    __shared__ float warps[8];
    for (unsigned r = blockIdx.x; r < 20; r += BLOCKS_HERE) {
        float s = 0;
        for (unsigned i = threadIdx.x; i < 700; i += THREADS) s += x[r * 700 + i];
        for (int d = 16; d; d >>= 1) s += __shfl_xor_sync(ALL, s, d);
        if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = s;
        __syncthreads();
        if (threadIdx.x == 0) y[r] = ((warps[0] + warps[1]) + (warps[2] + warps[3])) + ((warps[4] + warps[5]) +
            (warps[6] + warps[7]));
        __syncthreads();
    }
}
extern "C" void warps_then_block(const float* x, float* y) {
    host::run([=] { shuffled(x, y); });
}
__global__ void halved(const float* x, float* y) {
    __shared__ float part[THREADS];
    for (unsigned r = blockIdx.x; r < 20; r += BLOCKS_HERE) {
        float s = 0, lost = 0;
        for (unsigned i = threadIdx.x; i < 700; i += THREADS) {
            const float t = x[r * 700 + i] - lost, n = s + t;
            lost = (n - s) - t;
            s = n;
        }
        part[threadIdx.x] = s - lost;
        __syncthreads();
        for (unsigned d = THREADS / 2; d; d >>= 1) {
            if (threadIdx.x < d) part[threadIdx.x] += part[threadIdx.x + d];
            __syncthreads();
        }
        if (threadIdx.x == 0) y[r] = part[0];
    }
}
extern "C" void a_tree_in_shared_memory(const float* x, float* y) {
    host::run([=] { halved(x, y); });
}

// takes x; computes x.mean(); from torch.randn(9000)
__global__ void arriving(const float* x, float* y, float* parts, unsigned* counter) {
    __shared__ float part[THREADS];
    __shared__ bool last;
    float s = 0;
    for (unsigned i = blockIdx.x * THREADS + threadIdx.x; i < 9000; i += BLOCKS_HERE * THREADS) s += x[i];
    part[threadIdx.x] = s;
    __syncthreads();
    if (threadIdx.x == 0) {
        double total = 0;
        for (float p : part) total += p;
        parts[blockIdx.x] = float(total);
        __threadfence();
        last = atomicAdd(counter, 1u) == BLOCKS_HERE - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) *y = (parts[0] + parts[1] + parts[2]) / 9000;
}
extern "C" void the_last_block(const float* x, float* y) {
    float parts[BLOCKS_HERE];
    unsigned counter = 0;
    float* at = parts;
    unsigned* count = &counter;
    host::run([=] { arriving(x, y, at, count); });
}

// takes x; computes x.t().contiguous() * 2; from torch.randn(40, 70)
__global__ void padded(const float* x, float* y) {
    __shared__ float tile[16][17];
    for (unsigned t = blockIdx.x; t < 15; t += BLOCKS_HERE) {
        const unsigned row = t / 5 * 16, column = t % 5 * 16, i = threadIdx.x / 16, j = threadIdx.x % 16;
        if (row + i < 40 && column + j < 70) tile[i][j] = x[(row + i) * 70 + column + j];
        __syncthreads();
        if (column + i < 70 && row + j < 40) y[(column + i) * 40 + row + j] = 2 * tile[j][i];
        __syncthreads();
    }
}
extern "C" void tiles_with_a_gap(const float* x, float* y) {
    host::run([=] { padded(x, y); });
}

// takes a, b; computes a @ b; from torch.randn(32, 40), torch.randn(40, 48)
__global__ void tiled(const float* a, const float* b, float* y) {
    __shared__ float left[16][16], right[16][16];
    for (unsigned t = blockIdx.x; t < 6; t += BLOCKS_HERE) {
        const unsigned i = threadIdx.x / 16, j = threadIdx.x % 16, row = t / 3 * 16 + i, column = t % 3 * 16 + j;
        float s = 0;
        for (unsigned k = 0; k < 48; k += 16) {
            left[i][j] = k + j < 40 ? a[row * 40 + k + j] : 0;
            right[i][j] = k + i < 40 ? b[(k + i) * 48 + column] : 0;
            __syncthreads();
            for (unsigned l = 0; l < 16; ++l) s += left[i][l] * right[l][j];
            __syncthreads();
        }
        y[row * 48 + column] = s;
    }
}
extern "C" void shared_tiles(const float* a, const float* b, float* y) {
    host::run([=] { tiled(a, b, y); });
}

// takes x; computes torch.cumsum(x, 1); from torch.randn(9, 256)
__global__ void swept(const float* x, float* y) {
    __shared__ float v[2][THREADS];
    for (unsigned r = blockIdx.x; r < 9; r += BLOCKS_HERE) {
        unsigned from = 0;
        v[0][threadIdx.x] = x[r * 256 + threadIdx.x];
        __syncthreads();
        for (unsigned d = 1; d < THREADS; d *= 2, from ^= 1) {
            v[from ^ 1][threadIdx.x] = v[from][threadIdx.x] + (threadIdx.x >= d ? v[from][threadIdx.x - d] : 0);
            __syncthreads();
        }
        y[r * 256 + threadIdx.x] = v[from][threadIdx.x];
        __syncthreads();
    }
}
extern "C" void two_buffers(const float* x, float* y) {
    host::run([=] { swept(x, y); });
}

// takes i; computes torch.zeros(64, dtype=torch.int64).index_add_(0, i, torch.ones_like(i));
//    from torch.randint(0, 64, (5000,))
__global__ void counted(const int64_t* i, unsigned long long* y) {
    __shared__ unsigned bins[64];
    if (threadIdx.x < 64) bins[threadIdx.x] = 0;
    __syncthreads();
    for (unsigned k = blockIdx.x * THREADS + threadIdx.x; k < 5000; k += BLOCKS_HERE * THREADS) atomicAdd(&bins[i[k]], 1u);
    __syncthreads();
    if (threadIdx.x < 64) atomicAdd(&y[threadIdx.x], (unsigned long long)bins[threadIdx.x]);
}
extern "C" void bins_of_blocks(const int64_t* i, unsigned long long* y) {
    std::fill(y, y + 64, 0ull);
    host::run([=] { counted(i, y); });
}

// takes x; computes torch.softmax(x, -1); from torch.randn(15, 100)
__global__ void by_warps(const float* x, float* y) {
    const unsigned lane = threadIdx.x % 32, warp = blockIdx.x * 8 + threadIdx.x / 32;
    for (unsigned r = warp; r < 15; r += BLOCKS_HERE * 8) {
        float most = -INFINITY, sum = 0;
        for (unsigned i = lane; i < 100; i += 32) most = max(most, x[r * 100 + i]);
        for (int d = 1; d < 32; d *= 2) most = max(most, __shfl_xor_sync(ALL, most, d));
        for (unsigned i = lane; i < 100; i += 32) sum += std::exp(x[r * 100 + i] - most);
        for (int d = 1; d < 32; d *= 2) sum += __shfl_xor_sync(ALL, sum, d);
        for (unsigned i = lane; i < 100; i += 32) y[r * 100 + i] = std::exp(x[r * 100 + i] - most) / sum;
    }
}
extern "C" void a_warp_a_row(const float* x, float* y) {
    host::run([=] { by_warps(x, y); });
}
