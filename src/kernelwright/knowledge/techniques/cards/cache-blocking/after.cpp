constexpr long ROWS = 2048, COLUMNS = 2048, BLOCK = 16;
static_assert(ROWS % BLOCK == 0 && COLUMNS % BLOCK == 0, "no rest");

extern "C" void kernel(const float* x, float* out) {
#pragma omp parallel for
    for (long down = 0; down < ROWS; down += BLOCK)
        for (long across = 0; across < COLUMNS; across += BLOCK)
            for (long column = across; column < across + BLOCK; ++column)
                for (long row = down; row < down + BLOCK; ++row)
                    out[column * ROWS + row] = 2.0f * x[row * COLUMNS + column];
}
