constexpr long ROWS = 48, COLUMNS = 1024, LANES = 16;
static_assert(COLUMNS % LANES == 0, "no tail");

typedef float Vector __attribute__((vector_size(LANES * sizeof(float)), aligned(sizeof(float))));

static float product(const float* left, const float* right) {
    Vector total = {};
    for (long i = 0; i < COLUMNS; i += LANES)
        total += *reinterpret_cast<const Vector*>(left + i) * *reinterpret_cast<const Vector*>(right + i);
    float sum = 0.0f;
    for (long lane = 0; lane < LANES; ++lane) sum += total[lane];
    return sum;
}

extern "C" void kernel(const float* x, const float* y, float* out) {
    for (long i = 0; i < ROWS; ++i)
        for (long j = 0; j < ROWS; ++j) out[i * ROWS + j] = product(x + i * COLUMNS, y + j * COLUMNS);
}
