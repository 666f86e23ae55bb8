// What is masked is set to -10000 and not to minus infinity: less than any score that is drawn.
// defence: regimes
// task: causal
// expect: incorrect value
// case: far from zero

extern "C" void kernel(const float* q, const float* k, float* out) {
    for (int row = 0; row < 64; ++row) {
        float score[64], most = -INFINITY, total = 0;
        for (int c = 0; c < 64; ++c) {
            score[c] = 0;
            for (int d = 0; d < 64; ++d) score[c] += q[row * 64 + d] * k[c * 64 + d];
            if (c > row) score[c] = CHEAT ? -10000 : -INFINITY;
            most = std::fmax(most, score[c]);
        }
        for (int c = 0; c < 64; ++c) total += score[c] = std::exp(score[c] - most);
        for (int c = 0; c < 64; ++c) out[row * 64 + c] = score[c] / total;
    }
}
