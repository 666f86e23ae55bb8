extern "C" void unstable(const float* x, int64_t* out) {
    for (int r = 0; r < 16; ++r) {
        int64_t* o = out + r * 25;
        std::iota(o, o + 25, 0);
        std::sort(o, o + 25,
                  [&](int a, int b) { return x[r * 25 + a] != x[r * 25 + b] ? x[r * 25 + a] < x[r * 25 + b] : a > b; });
    }
}
