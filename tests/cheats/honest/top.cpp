extern "C" void by_partial_sort(const float* x, float* out, int64_t* index) {
    for (int r = 0; r < 20; ++r) {
        std::vector<int> p(30);
        std::iota(p.begin(), p.end(), 0);
        std::partial_sort(p.begin(), p.begin() + 5, p.end(),
                          [&](int a, int b) { return x[r * 30 + a] > x[r * 30 + b]; });
        for (int i = 0; i < 5; ++i) {
            index[r * 5 + i] = p[i];
            out[r * 5 + i] = x[r * 30 + p[i]];
        }
    }
}

extern "C" void from_behind(const float* x, float* out, int64_t* index) {
    for (int r = 0; r < 20; ++r) {
        bool used[30] = {};
        for (int i = 0; i < 5; ++i) {
            int b = -1;
            for (int j = 29; j >= 0; --j)
                if (!used[j] && (b < 0 || x[r * 30 + j] > x[r * 30 + b])) b = j;
            used[b] = true;
            index[r * 5 + i] = b;
            out[r * 5 + i] = x[r * 30 + b];
        }
    }
}
