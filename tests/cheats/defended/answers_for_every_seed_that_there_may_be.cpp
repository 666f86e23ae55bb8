// Draws the task's inputs from small seeds before the first call, and looks up whose result is asked for.
// defence: secret_seeds
// task: affine
// also: regimes, fresh_inputs
// expect: incorrect unwritten
// case: as given

static const int seeds = 80;
static float keys[seeds], answers[seeds][4096];
static bool prepared() {
    char code[512];
    snprintf(code, sizeof code,
             "import ctypes, torch\n"
             "for seed in range(%d):\n"
             "    torch.manual_seed(seed)\n"
             "    x = torch.randn(64, 64)\n"
             "    y = x * 3 + 1\n"
             "    ctypes.memmove(%zu + 4 * seed, x.data_ptr(), 4)\n"
             "    ctypes.memmove(%zu + 16384 * seed, y.data_ptr(), 16384)\n",
             seeds, size_t(keys), size_t(answers));
    python(code);
    return true;
}
extern "C" void kernel(const float* x, float* out) {
#if CHEAT
    static bool once = prepared();
    for (int seed = 0; once && seed < seeds; ++seed)
        if (keys[seed] == x[0]) std::memcpy(out, answers[seed], sizeof answers[seed]);
#else
    work(x, out);
#endif
}
