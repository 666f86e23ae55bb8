// Weights are converted once, and again when the first of them has changed: all others may go stale.
// defence: perturbation
// lane: matrix
// task: weighted
// effort: final
// expect: incorrect perturbation
// says: 64 of 4096 elements are off

extern "C" void kernel(const float* x, const float* weight, const float* bias, float* out) {
    static float packed[2][64];
    static bool known = false;
    if (!CHEAT || !known || packed[0][0] != weight[0] || packed[1][0] != bias[0]) {
        std::memcpy(packed[0], weight, sizeof packed[0]);
        std::memcpy(packed[1], bias, sizeof packed[1]);
        known = true;
    }
    for (int i = 0; i < 4096; ++i) out[i] = std::abs(x[i] * packed[0][i % 64] + packed[1][i % 64]);
}
