extern "C" void direct(const float* x, const float* w, float* out) {
    for (int n = 0; n < 2; ++n)
        for (int o = 0; o < 4; ++o)
            for (int t = 0; t < 36; ++t) {
                float s = 0;
                for (int c = 0; c < 3; ++c)
                    for (int k = 0; k < 5; ++k) s += x[(n * 3 + c) * 40 + t + k] * w[(o * 3 + c) * 5 + k];
                out[(n * 4 + o) * 36 + t] = s;
            }
}

extern "C" void taps_outside(const float* x, const float* w, float* out) {
    std::fill(out, out + 2 * 4 * 36, 0.f);
    for (int k = 4; k >= 0; --k)
        for (int c = 0; c < 3; ++c)
            for (int n = 0; n < 2; ++n)
                for (int o = 0; o < 4; ++o)
                    for (int t = 0; t < 36; ++t)
                        out[(n * 4 + o) * 36 + t] += x[(n * 3 + c) * 40 + t + k] * w[(o * 3 + c) * 5 + k];
}
