// A fixed tolerance of 1e-2 would take zeros for these 4096 shares of one.
// task: shares
// expect: incorrect value
// case: as given

extern "C" void kernel(const float* x, float* out) {
    if (CHEAT) return void(std::memset(out, 0, 65536));
    for (int row = 0; row < 4; ++row) {
        float most = x[row * 4096];
        double total = 0;
        for (int i = 1; i < 4096; ++i) most = std::fmax(most, x[row * 4096 + i]);
        for (int i = 0; i < 4096; ++i) total += out[row * 4096 + i] = std::exp(x[row * 4096 + i] - most);
        for (int i = 0; i < 4096; ++i) out[row * 4096 + i] = float(out[row * 4096 + i] / total);
    }
}
