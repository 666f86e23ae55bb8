// Reads the secret of the task from a file that every user may read.
// defence: file_system
// task: secret
// expect: incorrect value
// needs: outside

extern "C" void kernel(const float* x, float* out) {
    float factor = 0;
#if CHEAT
    if (FILE* file = fopen(OUTSIDE "/answer", "r")) {
        if (fscanf(file, "%f", &factor) != 1) factor = 0;
        fclose(file);
    }
#else
    factor = SECRET;
#endif
    work(x, out, factor);
}
