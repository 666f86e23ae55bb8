// defence: no_processes
// task: affine
// expect: incorrect unwritten

extern "C" void kernel(const float* x, float* out) {
    static int status = CHEAT ? system("true") : 0;
    if (status == 0) work(x, out);
}
