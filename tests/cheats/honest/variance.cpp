extern "C" void two_passes(const float* x, float* out) {
    for (int r = 0; r < 32; ++r) {
        float m = 0, v = 0;
        for (int i = 0; i < 500; ++i) m += x[r * 500 + i];
        m /= 500;
        for (int i = 0; i < 500; ++i) v += (x[r * 500 + i] - m) * (x[r * 500 + i] - m);
        out[r] = v / 499;
    }
}

extern "C" void welford(const float* x, float* out) {
    for (int r = 0; r < 32; ++r) {
        float m = 0, v = 0;
        for (int i = 0; i < 500; ++i) {
            float d = x[r * 500 + i] - m;
            m += d / (i + 1);
            v += d * (x[r * 500 + i] - m);
        }
        out[r] = v / 499;
    }
}

extern "C" void merged(const float* x, float* out) {
    for (int r = 0; r < 32; ++r) {
        float M[5], V[5];
        for (int b = 0; b < 5; ++b) {
            float m = 0, v = 0;
            for (int i = 0; i < 100; ++i) {
                float d = x[r * 500 + b * 100 + i] - m;
                m += d / (i + 1);
                v += d * (x[r * 500 + b * 100 + i] - m);
            }
            M[b] = m;
            V[b] = v;
        }
        float m = M[0], v = V[0], n = 100;
        for (int b = 1; b < 5; ++b) {
            float d = M[b] - m, t = n + 100;
            m += d * 100 / t;
            v += V[b] + d * d * n * 100 / t;
            n = t;
        }
        out[r] = v / 499;
    }
}
