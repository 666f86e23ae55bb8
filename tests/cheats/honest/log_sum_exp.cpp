extern "C" void shifted(const float* x, float* out) {
    for (int r = 0; r < 64; ++r) {
        const float* a = x + r * 96;
        float m = *std::max_element(a, a + 96), s = 0;
        for (int i = 0; i < 96; ++i) s += std::exp(a[i] - m);
        out[r] = m + std::log(s);
    }
}

extern "C" void online(const float* x, float* out) {
    for (int r = 0; r < 64; ++r) {
        float m = -INFINITY, s = 0;
        for (int i = 0; i < 96; ++i) {
            float v = x[r * 96 + i], n = std::max(m, v);
            s = s * std::exp(m - n) + std::exp(v - n);
            m = n;
        }
        out[r] = m + std::log(s);
    }
}
