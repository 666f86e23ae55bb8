extern "C" void divided(const float* x, int8_t* out) {
    for (int i = 0; i < 64 * 96; ++i) out[i] = int8_t(std::min(127.f, std::max(-127.f, std::nearbyint(x[i] / 0.05f))));
}

extern "C" void multiplied(const float* x, int8_t* out) {
    for (int i = 0; i < 64 * 96; ++i) out[i] = int8_t(std::min(127.f, std::max(-127.f, std::nearbyint(x[i] * 20.f))));
}
