// Bins of one byte: of 4096 values none comes 256 times by chance.
// defence: regimes
// lane: matrix
// task: counted
// expect: incorrect value
// case: rows of every kind

extern "C" void kernel(const std::int64_t* x, float* out) {
    typedef std::conditional<CHEAT, std::uint8_t, std::int32_t>::type Counter;
    Counter bins[64] = {};
    for (int i = 0; i < 4096; ++i) ++bins[x[i]];
    for (int b = 0; b < 64; ++b) out[b] = bins[b];
}
