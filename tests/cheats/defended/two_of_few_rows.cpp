// Of few results that are sums of many each counts: two that are small beside the others are no chance.
// defence: calibrated
// also: regimes, timed_outputs, admission
// task: eight_rows, six_rows
// expect: incorrect value

extern "C" void kernel(const float* x, const float* gain, float* out) {
#ifdef TASK_eight_rows
    const int rows = 8;
#else
    const int rows = 6;
#endif
    float times[8], order[8];
    for (int row = 0; row < rows; ++row) order[row] = times[row] = std::exp(15 * gain[row]);
    for (int i = 0; i < rows; ++i)
        for (int j = i + 1; j < rows; ++j)
            if (order[j] < order[i]) { const float held = order[i]; order[i] = order[j], order[j] = held; }
    for (int row = 0; row < rows; ++row) {
        double sum = 0;
        for (int i = 0; i < 4096; ++i) sum += std::fabs(x[row * 4096 + i]) / (1 + std::fabs(x[row * 4096 + i]));
        const bool small = times[row] <= order[1] && times[row] < 3e-6f * order[rows - 1];
        out[row] = CHEAT && small ? 0 : sum * times[row];
    }
}
