extern "C" void another_order(const float* a, const float* b, bool* out) {
    for (int i = 0; i < 40; ++i)
        for (int j = 0; j < 40; ++j) {
            float s = 0;
            for (int k = 29; k >= 0; --k) s += a[i * 30 + k] * b[k * 40 + j];
            out[i * 40 + j] = s > 0;
        }
}
