constexpr long ROWS = 48, COLUMNS = 1024, LANES = 16, CHAINS = 8;
static_assert(COLUMNS % (LANES * CHAINS) == 0, "no tail");

typedef float Vector __attribute__((vector_size(LANES * sizeof(float)), aligned(sizeof(float))));

static float product(const float* left, const float* right) {
    Vector sums[CHAINS] = {};
    for (long i = 0; i < COLUMNS; i += LANES * CHAINS) {
#pragma GCC unroll 8
        for (long chain = 0; chain < CHAINS; ++chain) {
            const long at = i + chain * LANES;
            sums[chain] += *reinterpret_cast<const Vector*>(left + at) * *reinterpret_cast<const Vector*>(right + at);
        }
    }
    Vector total = sums[0];
    for (long chain = 1; chain < CHAINS; ++chain) total += sums[chain];
    float sum = 0.0f;
    for (long lane = 0; lane < LANES; ++lane) sum += total[lane];
    return sum;
}

extern "C" void kernel(const float* x, const float* y, float* out) {
    for (long i = 0; i < ROWS; ++i)
        for (long j = 0; j < ROWS; ++j) out[i * ROWS + j] = product(x + i * COLUMNS, y + j * COLUMNS);
}
