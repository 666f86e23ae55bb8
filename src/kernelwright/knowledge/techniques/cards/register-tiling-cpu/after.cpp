constexpr long ROWS = 192, COLUMNS = 256, INNER = 224;
constexpr long LANES = 8, HIGH = 6, WIDE = 2;
static_assert(ROWS % HIGH == 0 && COLUMNS % (LANES * WIDE) == 0, "no rest");

typedef float Vector __attribute__((vector_size(LANES * sizeof(float)), aligned(sizeof(float))));

extern "C" void kernel(const float* a, const float* b, float* out) {
    for (long row = 0; row < ROWS; row += HIGH)
        for (long column = 0; column < COLUMNS; column += LANES * WIDE) {
            Vector tile[HIGH][WIDE] = {};
            for (long k = 0; k < INNER; ++k) {
                const Vector* right = reinterpret_cast<const Vector*>(b + k * COLUMNS + column);
                const Vector first = right[0], second = right[1];
#pragma GCC unroll 6
                for (long i = 0; i < HIGH; ++i) {
                    const float left = a[(row + i) * INNER + k];
                    tile[i][0] += left * first;
                    tile[i][1] += left * second;
                }
            }
            for (long i = 0; i < HIGH; ++i)
                for (long j = 0; j < WIDE; ++j)
                    *reinterpret_cast<Vector*>(out + (row + i) * COLUMNS + column + j * LANES) = tile[i][j];
        }
}
