// defence: calibrated
// task: affine
// expect: incorrect value
// case: as given
// says: allowed

extern "C" void kernel(const float* x, float* out) {
    for (int i = 0; i < 4096; ++i) {
#if CHEAT
        out[i] = float(_Float16(_Float16(x[i]) * _Float16(3))) + 1;
#else
        out[i] = x[i] * 3 + 1;
#endif
    }
}
