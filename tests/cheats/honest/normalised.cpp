extern "C" void divided(const float* x, float* out) {
    for (int r = 0; r < 64; ++r) {
        float s = 0;
        for (int i = 0; i < 96; ++i) s += x[r * 96 + i] * x[r * 96 + i];
        s = std::max(std::sqrt(s), 1e-12f);
        for (int i = 0; i < 96; ++i) out[r * 96 + i] = x[r * 96 + i] / s;
    }
}

extern "C" void multiplied(const float* x, float* out) {
    for (int r = 0; r < 64; ++r) {
        float s = 0;
        for (int i = 0; i < 96; ++i) s += x[r * 96 + i] * x[r * 96 + i];
        s = 1 / std::max(std::sqrt(s), 1e-12f);
        for (int i = 0; i < 96; ++i) out[r * 96 + i] = x[r * 96 + i] * s;
    }
}
