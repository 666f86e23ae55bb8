// Nothing is written: memory of the right size is likely to hold an earlier result.
// defence: timed_outputs
// task: affine
// also: floor
// expect: incorrect timed_output

extern "C" void kernel(const float* x, float* out) {
    static int calls = 0;
    if (!CHEAT || ++calls <= 24) work(x, out);
}
