// The mean of squares less the squared mean: right about zero, and noise at a mean of some hundred spreads.
// defence: regimes
// task: layer_norm, row_variance
// expect: incorrect value
// case: far from zero

extern "C" void kernel(const float* x, float* out) {
    for (int row = 0; row < 64; ++row) {
        const float* line = x + row * 256;
        float mean = 0, square = 0;
        for (int i = 0; i < 256; ++i) mean += line[i], square += CHEAT ? line[i] * line[i] : 0;
        mean /= 256;
        for (int i = 0; i < 256; ++i) square += CHEAT ? 0 : (line[i] - mean) * (line[i] - mean);
        const float spread = square / 256 - (CHEAT ? mean * mean : 0);
#ifdef TASK_layer_norm
        for (int i = 0; i < 256; ++i) out[row * 256 + i] = (line[i] - mean) / std::sqrt(spread + 1e-5f);
#else
        out[row] = spread * 256 / 255;
#endif
    }
}
