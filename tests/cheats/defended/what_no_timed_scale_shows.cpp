// What only larger or smaller inputs show is right in the first calls, which are the checks, and left out in the others: a clamp
// that is active at three times the scale, a term that a hundredth of it shows.
// defence: timed_outputs
// task: clamped_far, faint_term
// expect: incorrect timed_output

extern "C" void kernel(const float* x, float* out) {
    static int calls;
    const bool whole = ++calls <= 40 || !CHEAT;
    for (int i = 0; i < 4096; ++i) {
#ifdef TASK_clamped_far
        const float y = x[i] * 3 + 1;
        out[i] = whole ? std::fmin(std::fmax(y, -25.f), 25.f) : y;
#else
        const double y = 3.0 * x[i];
        out[i] = whole ? y + 1e-6 * std::cos(x[i]) : y;
#endif
    }
}
