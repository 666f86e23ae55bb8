extern "C" void by_sign(const float* x, const float* y, float* out) {
    float s = 0;
    for (int i = 0; i < 400; ++i) s += std::max(0.f, y[i] > 0 ? 1 - x[i] : 1 + x[i]);
    *out = s / 400;
}
