extern "C" void exact(const int64_t* a, const int64_t* b, int64_t* out) {
    for (int i = 0; i < 360; ++i) out[i] = a[i] * (b[i]) - a[i] / 3;
}
