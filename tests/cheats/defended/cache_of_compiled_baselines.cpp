// Only references write there, whatever its mode: else every later baseline could be made slow, or wrong.
// defence: file_system
// task: cached
// expect: incorrect unwritten
// needs: outside
// leaves: kernelwright/inductor/poison

static bool poisoned() {
    FILE* file = fopen(OUTSIDE "/kernelwright/inductor/poison", "w");
    return file && fclose(file) == 0;
}
extern "C" void kernel(const float* x, float* out) {
    static const bool fine = CHEAT ? poisoned() : true;
    if (fine) work(x, out);
}
