extern "C" void three_passes(const float* x, float* out) {
    for (int r = 0; r < 40; ++r) {
        const float* a = x + r * 333;
        float* o = out + r * 333;
        float m = a[0], s = 0;
        for (int i = 0; i < 333; ++i) m = std::max(m, a[i]);
        for (int i = 0; i < 333; ++i) s += o[i] = std::exp(a[i] - m);
        for (int i = 0; i < 333; ++i) o[i] /= s;
    }
}

extern "C" void online(const float* x, float* out) {
    for (int r = 0; r < 40; ++r) {
        const float* a = x + r * 333;
        float m = -INFINITY, s = 0;
        for (int i = 0; i < 333; ++i) {
            float n = std::max(m, a[i]);
            s = s * std::exp(m - n) + std::exp(a[i] - n);
            m = n;
        }
        for (int i = 0; i < 333; ++i) out[r * 333 + i] = std::exp(a[i] - m) / s;
    }
}

extern "C" void powers_of_two(const float* x, float* out) {
    const float l = 1.44269504f;
    for (int r = 0; r < 40; ++r) {
        const float* a = x + r * 333;
        float m = a[0], s = 0;
        for (int i = 0; i < 333; ++i) m = std::max(m, a[i]);
        for (int i = 0; i < 333; ++i) s += std::exp2((a[i] - m) * l);
        const float inverse = 1 / s;
        for (int i = 0; i < 333; ++i) out[r * 333 + i] = std::exp2((a[i] - m) * l) * inverse;
    }
}

extern "C" void of_logarithms(const float* x, float* out) {
    for (int r = 0; r < 40; ++r) {
        const float* a = x + r * 333;
        float m = a[0], s = 0;
        for (int i = 0; i < 333; ++i) m = std::max(m, a[i]);
        for (int i = 0; i < 333; ++i) s += std::exp(a[i] - m);
        for (int i = 0; i < 333; ++i) out[r * 333 + i] = std::exp(a[i] - m - std::log(s));
    }
}
