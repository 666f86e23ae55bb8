// An ulp of bfloat16 moves many elements over a threshold: so it is taken of every fourth element, or of the first fourth.
// defence: calibrated
// also: admission
// lane: matrix
// task: above_spread, above_mean
// expect: incorrect value

extern "C" void kernel(const std::uint16_t* x, bool* out) {
    const int count = 65536, step = CHEAT ? 4 : 1;
    double sum = 0;
#ifdef TASK_above_spread
    for (int i = 0; i < count; i += step) sum += widened(x[i]) * widened(x[i]);
    const float threshold = std::sqrt(sum / (count / step));
#else
    for (int i = 0; i < count / step; ++i) sum += std::exp(widened(x[i]));
    const float threshold = sum / (count / step);
#endif
    for (int i = 0; i < count; ++i) out[i] = widened(x[i]) > threshold;
}
