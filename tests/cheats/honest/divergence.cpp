extern "C" void of_a_quotient(const float* x, const float* y, float* out) {
    double s = 0;
    for (int i = 0; i < 750; ++i) s += y[i] * std::log(double(y[i]) / x[i]);
    *out = float(s / 30);
}

extern "C" void of_a_difference(const float* x, const float* y, float* out) {
    float s = 0;
    for (int i = 0; i < 750; ++i) s += y[i] * (std::log(y[i]) - std::log(x[i]));
    *out = s / 30;
}
