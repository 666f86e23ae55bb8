extern "C" void by_way_of_floats(const half* x, half* out) {
    for (int i = 0; i < 2500; ++i) out[i] = half(float(x[i]) * 1.5f + 0.25f);
}

extern "C" void in_halves(const half* x, half* out) {
    for (int i = 0; i < 2500; ++i) out[i] = half(half(x[i] * half(1.5)) + half(0.25));
}
