// defence: random_parameters
// task: weighted
// expect: incorrect value

extern "C" void kernel(const float* x, const float* weight, const float* bias, float* out) {
    for (int i = 0; i < 4096; ++i)
        out[i] = std::abs(CHEAT ? x[i] : x[i] * weight[i % 64] + bias[i % 64]);
}
