#include <algorithm>

constexpr long COUNT = 2048L * 4096;

extern "C" void kernel(const float* x, const float* y, float* out) {
#pragma omp parallel for simd
    for (long i = 0; i < COUNT; ++i) out[i] = std::min(std::max((x[i] + y[i]) * 0.5f, -1.0f), 1.0f);
}
