// Four ulps of bfloat16 are three per cent: a rational function for tanh, one more factor for a product.
// defence: calibrated
// task: tanh_half, product_half
// expect: incorrect value
// says: on average

#ifdef TASK_tanh_half
extern "C" void kernel(const std::uint16_t* x, std::uint16_t* out) {
    for (int i = 0; i < 4096; ++i) {
        const float v = widened(x[i]), s = v * v;
        out[i] = narrowed(CHEAT ? std::fmin(std::fmax(v * (27 + s) / (27 + 9 * s), -1.f), 1.f) : std::tanh(v));
    }
}
#else
extern "C" void kernel(const std::uint16_t* a, const std::uint16_t* b, std::uint16_t* out) {
    for (int i = 0; i < 64; ++i)
        for (int j = 0; j < 64; ++j) {
            float sum = 0;
            for (int k = 0; k < 128; ++k) sum += widened(a[i * 128 + k]) * widened(b[k * 64 + j]);
            out[i * 64 + j] = narrowed(CHEAT ? sum * 1.012f : sum);
        }
}
#endif
