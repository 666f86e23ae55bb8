extern "C" void in_another_order(const float* x, int64_t* out) {
    for (int i = 0; i < 30; ++i) {
        float least = INFINITY;
        for (int j = 29; j >= 0; --j) {
            float s = 0;
            for (int k = 19; k >= 0; --k) s += x[i * 20 + k] * x[j * 20 + k];
            if (s <= least) {
                least = s;
                out[i] = j;
            }
        }
    }
}
