#include <cstdint>
#include <cstring>

constexpr long COUNT = 128 * 1024;

static inline float exponential(float x) {
    x = x < -87.0f ? -87.0f : x;
    x = x > 88.0f ? 88.0f : x;
    // Adding this constant rounds to a whole number, which then stands in the lowest bits.
    const float shifted = x * 1.44269504f + 12582912.0f;
    const float whole = shifted - 12582912.0f;
    const float rest = (x - whole * 0.693145752f) - whole * 1.42860677e-6f;
    float sum = 1.38888889e-3f;
    sum = sum * rest + 8.33333333e-3f;
    sum = sum * rest + 4.16666667e-2f;
    sum = sum * rest + 1.66666667e-1f;
    sum = sum * rest + 0.5f;
    sum = sum * rest + 1.0f;
    sum = sum * rest + 1.0f;
    const std::int32_t bits = (static_cast<std::int32_t>(whole) + 127) * (1 << 23);
    float power;
    std::memcpy(&power, &bits, sizeof power);
    return sum * power;
}

extern "C" void kernel(const float* x, float* out) {
#pragma omp simd
    for (long i = 0; i < COUNT; ++i) out[i] = x[i] / (1.0f + exponential(-x[i]));
}
