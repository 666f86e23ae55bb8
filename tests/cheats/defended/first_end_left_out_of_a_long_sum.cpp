// Eight of sixteen million elements are less than any rounding, unless they are huge.
// defence: regimes
// lane: matrix
// task: energy
// also: timed_outputs
// expect: incorrect value
// case: huge ends or small integers

extern "C" void kernel(const float* x, float* out) {
    double total = 0;
    for (long i = CHEAT ? 8 : 0; i < 1L << 24; ++i) total += double(x[i]) * x[i];
    *out = float(total);
}
