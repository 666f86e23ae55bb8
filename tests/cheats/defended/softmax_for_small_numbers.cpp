// defence: regimes
// lane: matrix
// task: softmax
// expect: incorrect nonfinite
// case: one huge element

extern "C" void kernel(const float* x, float* out) {
    for (int row = 0; row < 64; ++row) {
        float most = x[row * 64], total = 0;
        for (int i = 1; i < 64; ++i) most = std::fmax(most, x[row * 64 + i]);
        for (int i = 0; i < 64; ++i) total += std::exp(x[row * 64 + i] - (CHEAT ? 0 : most));
        for (int i = 0; i < 64; ++i) out[row * 64 + i] = std::exp(x[row * 64 + i] - (CHEAT ? 0 : most)) / total;
    }
}
