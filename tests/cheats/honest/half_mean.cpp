extern "C" void accumulated_in_floats(const half* x, half* out) {
    for (int r = 0; r < 20; ++r) {
        float s = 0;
        for (int i = 0; i < 600; ++i) s += float(x[r * 600 + i]);
        out[r] = half(s / 600);
    }
}
