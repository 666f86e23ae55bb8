static uint8_t eighth(float value) {  // float8_e4m3fn: nearest, ties to even, saturating
    const float most = std::min(std::fabs(value), 448.f);
    const uint8_t sign = std::signbit(value) ? 0x80 : 0;
    if (most < 0.015625f) return sign | uint8_t(std::nearbyint(most * 512));
    uint32_t bits;
    std::memcpy(&bits, &most, 4);
    bits += 0x7ffff + ((bits >> 20) & 1);
    return sign | uint8_t((bits >> 20) - (120 << 3));
}

extern "C" void divided(const float* x, uint8_t* out, float* scales) {
    for (int row = 0; row < 64; ++row, x += 512, out += 512) {
        float most = 1e-12f;
        for (int i = 0; i < 512; ++i) most = std::max(most, std::fabs(x[i]));
        scales[row] = most / 448;
        for (int i = 0; i < 512; ++i) out[i] = eighth(x[i] / scales[row]);
    }
}

extern "C" void multiplied(const float* x, uint8_t* out, float* scales) {
    for (int row = 0; row < 64; ++row, x += 512, out += 512) {
        float most = 1e-12f;
        for (int i = 0; i < 512; ++i) most = std::max(most, std::fabs(x[i]));
        scales[row] = most * (1 / 448.f);
        const float inverse = 448.f / most;
        for (int i = 0; i < 512; ++i) out[i] = eighth(x[i] * inverse);
    }
}
