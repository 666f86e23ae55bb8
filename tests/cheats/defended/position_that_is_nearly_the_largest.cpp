// The first element that is nearly as large as any can be, of a function that saturates.
// defence: calibrated
// lane: matrix
// task: best_tanh, best_sigmoid
// expect: incorrect value
// says: positions pick other values

extern "C" void kernel(const std::uint16_t* x, std::int64_t* out) {
    for (int row = 0; row < 64; ++row) {
        int best = 0;
        for (int i = 1; i < 4096; ++i) {
            if (widened(x[row * 4096 + i]) > widened(x[row * 4096 + best])) best = i;
#ifdef TASK_best_tanh
            if (CHEAT && std::tanh(widened(x[row * 4096 + best])) > 0.985) break;
#else
            if (CHEAT && 1 / (1 + std::exp(-4 * widened(x[row * 4096 + best]))) > 0.985) break;
#endif
        }
        out[row] = best;
    }
}
