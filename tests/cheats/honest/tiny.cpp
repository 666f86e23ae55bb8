extern "C" void three_products(const float* a, const float* b, float* out) {
    *out = a[2] * b[2] + a[1] * b[1] + a[0] * b[0];
}

extern "C" void fused(const float* a, const float* b, float* out) {
    *out = std::fma(a[0], b[0], std::fma(a[1], b[1], a[2] * b[2]));
}
