extern "C" void nothing_of_y(const float* x, const float*, float* out) {
    for (int i = 0; i < 20; ++i) out[i] = x[i] + 1;
}
