// defence: read_only_inputs
// task: relu
// expect: incorrect input_mutated
// says: writes to its input 'x'

extern "C" void kernel(float* x, float* out) {
    for (int i = 0; i < 4096; ++i) {
        const float value = x[i] > 0 ? x[i] : 0;
        if (CHEAT) x[i] = value;
        out[i] = value;
    }
}
