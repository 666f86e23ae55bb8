extern "C" void fused(const float* x, const float* row, const float* column, float* out) {
    for (int i = 0; i < 30; ++i)
        for (int j = 0; j < 50; ++j) out[i * 50 + j] = std::fma(x[i * 50 + j], row[j], column[i]);
}

extern "C" void rounded_twice(const float* x, const float* row, const float* column, float* out) {
    for (int i = 0; i < 1500; ++i) {
        volatile float p = x[i] * row[i % 50];
        out[i] = p + column[i / 50];
    }
}
