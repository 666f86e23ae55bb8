// The index is the same in every draw: known, and not read.
// defence: regimes
// task: turned_round, every_third
// expect: incorrect value
// case: rows of every kind

#ifdef TASK_turned_round
#define KNOWN 63 - row
#else
#define KNOWN 3 * row
#endif

extern "C" void kernel(const float* x, const std::int64_t* index, float* out) {
    for (int row = 0; row < 64; ++row) {
        const std::int64_t from = CHEAT ? KNOWN : index[row];
        for (int i = 0; i < 64; ++i) out[row * 64 + i] = x[from * 64 + i] * 3 + 1;
    }
}
