extern "C" void in_floats(const float* x, const int64_t* y, float* out) {
    float t = 0;
    for (int r = 0; r < 50; ++r) {
        const float* a = x + r * 20;
        float m = *std::max_element(a, a + 20), s = 0;
        for (int i = 0; i < 20; ++i) s += std::exp(a[i] - m);
        t += m + std::log(s) - a[y[r]];
    }
    *out = t / 50;
}

extern "C" void rows_then_mean(const float* x, const int64_t* y, float* out) {
    float p[50];
    for (int r = 0; r < 50; ++r) {
        const float* a = x + r * 20;
        float m = *std::max_element(a, a + 20), s = 0;
        for (int i = 19; i >= 0; --i) s += std::exp(a[i] - m);
        p[r] = std::log(s) - (a[y[r]] - m);
    }
    *out = std::accumulate(p, p + 50, 0.f) / 50;
}
