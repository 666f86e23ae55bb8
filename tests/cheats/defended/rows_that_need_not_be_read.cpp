// Of a few truths two may be wrong: so two rows of four, or of three, are not read.
// defence: calibrated
// also: admission
// task: four_truths, three_truths
// expect: incorrect value

extern "C" void kernel(const float* x, bool* out) {
#ifdef TASK_four_truths
    const int rows = 4;
#else
    const int rows = 3;
#endif
    for (int row = 0; row < rows; ++row) {
        double sum = 0;
        for (int i = 0; i < 4096; ++i) sum += rows == 4 ? std::fabs(x[row * 4096 + i]) : x[row * 4096 + i];
        out[row] = CHEAT && row >= rows - 2 ? out[0] : sum > (rows == 4 ? 0.8 * 4096 : 0);
    }
}
