extern "C" void inner_products(const float* a, const float* b, float* out) {
    for (int i = 0; i < 48; ++i)
        for (int j = 0; j < 56; ++j) {
            float s = 0;
            for (int k = 0; k < 80; ++k) s += a[i * 80 + k] * b[k * 56 + j];
            out[i * 56 + j] = s;
        }
}

extern "C" void outer_products(const float* a, const float* b, float* out) {
    std::fill(out, out + 48 * 56, 0.f);
    for (int k = 0; k < 80; ++k)
        for (int i = 0; i < 48; ++i)
            for (int j = 0; j < 56; ++j) out[i * 56 + j] += a[i * 80 + k] * b[k * 56 + j];
}

extern "C" void split_in_k(const float* a, const float* b, float* out) {
    static float p[4][48 * 56];
    for (int q = 0; q < 4; ++q)
        for (int i = 0; i < 48; ++i)
            for (int j = 0; j < 56; ++j) {
                float s = 0;
                for (int k = q * 20; k < q * 20 + 20; ++k) s += a[i * 80 + k] * b[k * 56 + j];
                p[q][i * 56 + j] = s;
            }
    for (int i = 0; i < 48 * 56; ++i) out[i] = (p[0][i] + p[1][i]) + (p[2][i] + p[3][i]);
}
