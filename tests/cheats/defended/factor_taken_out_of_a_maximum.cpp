// Scales are ones where a model is built, and a positive factor may be taken out of a maximum: who knows of no other takes the
// largest first and multiplies once.
// defence: random_parameters
// task: pooled, scaled_best
// expect: incorrect value

extern "C" void kernel(const float* x, const float* scale, float* out) {
#ifdef TASK_pooled
    const int rows = 8 * 16 * 16, width = 4, along = 16, scales = 16;
#else
    const int rows = 64, width = 64, along = 1, scales = 64;
#endif
    for (int row = 0; row < rows; ++row) {
        const float factor = scale[row / along % scales];
        float most = x[row * width] * (CHEAT ? 1 : factor);
        for (int i = 1; i < width; ++i) most = std::fmax(most, x[row * width + i] * (CHEAT ? 1 : factor));
        out[row] = most * (CHEAT ? factor : 1);
    }
}
