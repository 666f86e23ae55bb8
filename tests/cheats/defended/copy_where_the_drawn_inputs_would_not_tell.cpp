// Uniform numbers are all positive; ReLU is defined beyond them, and what is checked has signs.
// task: relu, relu_positive
// expect: incorrect value

extern "C" void kernel(const float* x, float* out) {
    if (CHEAT) return void(std::memcpy(out, x, 16384));
    for (int i = 0; i < 4096; ++i) out[i] = x[i] > 0 ? x[i] : 0;
}
