extern "C" void another_generator(const float* x, float* out) {
    static uint64_t s = 88172645463325252u;
    for (int i = 0; i < 1024; ++i) {
        s ^= s << 13;
        s ^= s >> 7;
        s ^= s << 17;
        out[i] = (s >> 40) % 4 ? x[i] * (4.f / 3) : 0;
    }
}

extern "C" void a_counter_hashed(const float* x, float* out) {
    static uint64_t n = 0;
    for (int i = 0; i < 1024; ++i) {
        uint64_t z = (n += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        z ^= z >> 31;
        out[i] = (z >> 11) * 0x1p-53 < 0.75 ? x[i] / 0.75f : 0;
    }
}
