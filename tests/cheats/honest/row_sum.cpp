extern "C" void plain(const float* x, float* out) {
    for (int r = 0; r < 33; ++r) {
        float s = 0;
        for (int i = 0; i < 1000; ++i) s += x[r * 1000 + i];
        out[r] = s;
    }
}

extern "C" void backwards(const float* x, float* out) {
    for (int r = 0; r < 33; ++r) {
        float s = 0;
        for (int i = 999; i >= 0; --i) s += x[r * 1000 + i];
        out[r] = s;
    }
}

extern "C" void two_stage(const float* x, float* out) {
    for (int r = 0; r < 33; ++r) {
        float p[10] = {};
        for (int i = 0; i < 1000; ++i) p[i / 100] += x[r * 1000 + i];
        float s = 0;
        for (float v : p) s += v;
        out[r] = s;
    }
}

extern "C" void strided(const float* x, float* out) {
    for (int r = 0; r < 33; ++r) {
        float p[8] = {};
        for (int i = 0; i < 1000; ++i) p[i % 8] += x[r * 1000 + i];
        out[r] = ((p[0] + p[1]) + (p[2] + p[3])) + ((p[4] + p[5]) + (p[6] + p[7]));
    }
}

extern "C" void kahan(const float* x, float* out) {
    for (int r = 0; r < 33; ++r) {
        volatile float s = 0, c = 0;
        for (int i = 0; i < 1000; ++i) {
            volatile float y = x[r * 1000 + i] - c;
            volatile float t = s + y;
            c = (t - s) - y;
            s = t;
        }
        out[r] = s;
    }
}

extern "C" void in_double(const float* x, float* out) {
    for (int r = 0; r < 33; ++r) {
        double s = 0;
        for (int i = 0; i < 1000; ++i) s += x[r * 1000 + i];
        out[r] = float(s);
    }
}

extern "C" void onto_its_own_output(const float* x, float* out) {
    for (int r = 0; r < 33; ++r) out[r] = 0;
    for (int i = 0; i < 1000; ++i)
        for (int r = 0; r < 33; ++r) out[r] += x[r * 1000 + i];
}
