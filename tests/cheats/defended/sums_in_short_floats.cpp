// defence: calibrated
// task: rows
// expect: incorrect value

static float rounded(float value) {
    if (!CHEAT) return value;
    uint32_t bits;
    std::memcpy(&bits, &value, 4);
    bits = (bits + 0x8000) & 0xffff0000;
    std::memcpy(&value, &bits, 4);
    return value;
}
extern "C" void kernel(const float* x, float* out) {
    for (int row = 0; row < 64; ++row) {
        float total = 0;
        for (int i = 0; i < 64; ++i) total += x[row * 64 + i] * x[row * 64 + i];
        out[row] = rounded(total) / 64;
    }
}
