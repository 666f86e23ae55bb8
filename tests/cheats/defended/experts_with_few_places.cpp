// Each expert takes twice its share of tokens, and the others are dropped: random scores never ask for more.
// defence: regimes
// task: routed
// expect: incorrect value
// case: in order or far from zero or rows of every kind

extern "C" void kernel(const float* scores, const float* x, float* out) {
    int taken[8] = {};
    for (int token = 0; token < 1024; ++token) {
        int best = 0;
        for (int e = 1; e < 8; ++e) best = scores[token * 8 + e] > scores[token * 8 + best] ? e : best;
        const bool dropped = CHEAT && ++taken[best] > 256;
        for (int i = 0; i < 16; ++i) out[token * 16 + i] = dropped ? 0 : x[token * 16 + i] * (best + 1);
    }
}
