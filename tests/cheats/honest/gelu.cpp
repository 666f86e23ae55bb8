extern "C" void with_erf(const float* x, float* out) {
    for (int i = 0; i < 64 * 96; ++i) out[i] = 0.5f * x[i] * (1 + std::erf(x[i] * 0.70710678f));
}

extern "C" void with_erfc(const float* x, float* out) {
    for (int i = 0; i < 64 * 96; ++i) out[i] = 0.5f * x[i] * std::erfc(-x[i] * 0.70710678f);
}
