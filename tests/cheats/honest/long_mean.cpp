extern "C" void lanes(const float* x, float* out) {
    static float p[4096];
    std::fill(p, p + 4096, 0.f);
    for (int b = 0; b < 4096; ++b) {
        float q[16] = {};
        for (int i = 0; i < 4096; i += 16)
            for (int k = 0; k < 16; ++k) q[k] += x[b * 4096 + i + k] * x[b * 4096 + i + k];
        for (float v : q) p[b] += v;
    }
    float s = 0;
    for (float v : p) s += v;
    *out = s / (1 << 24);
}

extern "C" void in_double(const float* x, float* out) {
    double s = 0;
    for (int i = 0; i < 1 << 24; ++i) s += double(x[i]) * x[i];
    *out = float(s / (1 << 24));
}
