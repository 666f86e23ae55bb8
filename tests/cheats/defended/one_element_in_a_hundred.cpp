// task: power
// expect: incorrect value

extern "C" void kernel(const float* x, float* out) {
    double total = 0;
    for (int i = 0; i < 65536; i += 100) total += double(x[i]) * x[i];
    *out = float(total / 656);
}
