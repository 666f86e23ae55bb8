// defence: poison
// task: affine
// also: timed_outputs
// expect: incorrect unwritten
// says: 16 of 4096 elements were never written

extern "C" void kernel(const float* x, float* out) {
    for (int i = 0; i < (CHEAT ? 4080 : 4096); ++i) out[i] = x[i] * 3 + 1;
}
