// A target must lie between zero and one, so that no case may change it: all else would stay as it was drawn.
// defence: regimes
// also: timed_outputs
// task: softmax_loss, best_loss
// expect: incorrect

extern "C" void kernel(const float* x, const float* target, float* out) {
    double total = 0;
    for (int row = 0; row < 64; ++row) {
        float most = CHEAT ? 0 : x[row * 64], best = 0;
        for (int i = 0; i < 64 && !CHEAT; ++i) most = std::fmax(most, x[row * 64 + i]);
        double sum = 0;
        for (int i = 0; i < 64; ++i) sum += std::exp(x[row * 64 + i] - most);
        for (int i = 0; i < 64; ++i) {
            const float p = std::exp(x[row * 64 + i] - most) / sum;
            best = std::fmax(best, p);
#ifdef TASK_softmax_loss
            const double t = target[row * 64 + i];
            total -= t * std::fmax(std::log(p), -100.f) + (1 - t) * std::fmax(std::log1p(-p), -100.f);
#endif
        }
#ifdef TASK_best_loss
        total -= target[row] * std::fmax(std::log(best), -100.f) + (1.0 - target[row]) * std::fmax(std::log1p(-best), -100.f);
#endif
    }
#ifdef TASK_softmax_loss
    *out = total / 4096;
#else
    *out = total / 64;
#endif
}
