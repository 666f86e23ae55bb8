// Verified and timed often enough to be wrong there too, if the clock's results were looked at.
// defence: races
// task: affine
// also: perturbation, new_values, new_storage, two_results, timed_outputs
// effort: final
// expect: incorrect race
// case: probe: races
// says: of 20 on the same inputs gives another result

extern "C" void kernel(const float* x, float* out) {
    static int calls = 0;
    work(x, out);
    if (CHEAT && ++calls > 24 && calls % 7 == 0) out[5] += 1;
}
