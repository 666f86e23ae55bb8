#include <immintrin.h>

#include <cstdint>

constexpr long COUNT = 4096L * 4096, PART = 1L << 16, LANES = 4;
static_assert(COUNT % PART == 0, "whole parts");

extern "C" void kernel(const float* x, float* out) {
#pragma omp parallel for
    for (long start = 0; start < COUNT; start += PART) {
        const long end = start + PART;
        long i = start;
        for (; i < end && reinterpret_cast<std::uintptr_t>(out + i) % 16 != 0; ++i) out[i] = x[i] * 1.5f + 0.25f;
        for (; i + LANES <= end; i += LANES) {
            const __m128 scaled = _mm_mul_ps(_mm_loadu_ps(x + i), _mm_set1_ps(1.5f));
            _mm_stream_ps(out + i, _mm_add_ps(scaled, _mm_set1_ps(0.25f)));
        }
        for (; i < end; ++i) out[i] = x[i] * 1.5f + 0.25f;
        _mm_sfence();
    }
}
