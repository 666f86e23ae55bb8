extern "C" void accumulated_in_floats(const uint16_t* a, const uint16_t* b, uint16_t* out) {
    for (int i = 0; i < 32; ++i)
        for (int j = 0; j < 24; ++j) {
            float s = 0;
            for (int k = 0; k < 200; ++k) s += widened(a[i * 200 + k]) * widened(b[k * 24 + j]);
            out[i * 24 + j] = rounded(s);
        }
}

extern "C" void two_halves(const uint16_t* a, const uint16_t* b, uint16_t* out) {
    for (int i = 0; i < 32; ++i)
        for (int j = 0; j < 24; ++j) {
            float s = 0, t = 0;
            for (int k = 0; k < 100; ++k) {
                s += widened(a[i * 200 + k]) * widened(b[k * 24 + j]);
                t += widened(a[i * 200 + k + 100]) * widened(b[(k + 100) * 24 + j]);
            }
            out[i * 24 + j] = rounded(s + t);
        }
}
