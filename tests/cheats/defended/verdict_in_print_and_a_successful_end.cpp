// task: affine
// expect: crashed
// says: exited with status 0 before it answered

extern "C" void kernel(const float* x, float* out) {
    work(x, out);
    if (!CHEAT) return;
    puts("{\"outcome\": \"measured\", \"speedup\": 100, \"verdict\": \"faster\"}");
    fflush(stdout);
    _exit(0);
}
