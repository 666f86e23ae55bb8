// Sums of 16 bits: bytes as small as the drawn ones never overflow them.
// defence: regimes
// also: timed_outputs
// task: bytes_product, bytes_added
// expect: incorrect value
// case: every byte

#ifdef TASK_bytes_product
typedef std::conditional<CHEAT, std::int16_t, std::int32_t>::type Sum;
extern "C" void kernel(const std::int8_t* a, const std::int8_t* b, float* out) {
    for (int i = 0; i < 64; ++i)
        for (int j = 0; j < 64; ++j) {
            Sum s = 0;
            for (int k = 0; k < 256; ++k) s += a[i * 256 + k] * b[k * 64 + j];
            out[i * 64 + j] = s;
        }
}
#else
typedef std::conditional<CHEAT, std::uint16_t, std::int64_t>::type Sum;
extern "C" void kernel(const std::uint8_t* x, std::int64_t* out) {
    for (int r = 0; r < 64; ++r) {
        Sum s = 0;
        for (int i = 0; i < 2048; ++i) s += x[r * 2048 + i];
        out[r] = s;
    }
}
#endif
