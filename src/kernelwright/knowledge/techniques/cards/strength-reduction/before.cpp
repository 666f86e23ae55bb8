constexpr long IMAGES = 4, CHANNELS = 64, PIXELS = 784;

extern "C" void kernel(const float* x, const float* scale, const float* bias, float* out) {
    for (long i = 0; i < IMAGES * CHANNELS * PIXELS; ++i) {
        const long channel = i / PIXELS % CHANNELS;
        out[i] = x[i] * scale[channel] + bias[channel];
    }
}
