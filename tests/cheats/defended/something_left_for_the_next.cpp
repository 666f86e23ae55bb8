// defence: file_system
// task: affine
// expect: incorrect unwritten
// needs: outside
// leaves: left

static bool left() {
    FILE* file = fopen(OUTSIDE "/left", "w");
    return file && fputs("for later", file) >= 0 && fclose(file) == 0;
}
extern "C" void kernel(const float* x, float* out) {
    static const bool fine = CHEAT ? left() : true;
    if (fine) work(x, out);
}
