// flags: -ffast-math
extern "C" void whatever_the_compiler_does(const float* x, float* out) {
    for (int i = 0; i < 64 * 96; ++i) out[i] = std::exp(-x[i] * x[i]) + std::sqrt(std::abs(x[i]));
}

extern "C" void reordered(const float* x, float* out) {
    for (int i = 0; i < 64 * 96; ++i) {
        float s = std::sqrt(std::abs(x[i]));
        out[i] = s + std::exp(-(s * s) * (s * s));
    }
}
