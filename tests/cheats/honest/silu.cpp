extern "C" void divided(const float* x, float* out) {
    for (int i = 0; i < 64 * 96; ++i) out[i] = x[i] / (1 + std::exp(-x[i]));
}

extern "C" void by_tanh(const float* x, float* out) {
    for (int i = 0; i < 64 * 96; ++i) {
        const double h = 0.5 * x[i];
        out[i] = float(h + h * std::tanh(h));
    }
}
