extern "C" void row_by_row(const float* x, float* out) {
    for (int j = 0; j < 33; ++j) out[j] = 0;
    for (int i = 0; i < 1000; ++i)
        for (int j = 0; j < 33; ++j) out[j] += x[i * 33 + j];
}

extern "C" void blocks_of_rows(const float* x, float* out) {
    float p[4][33] = {};
    for (int i = 0; i < 1000; ++i)
        for (int j = 0; j < 33; ++j) p[i / 250][j] += x[i * 33 + j];
    for (int j = 0; j < 33; ++j) out[j] = p[0][j] + p[1][j] + p[2][j] + p[3][j];
}
