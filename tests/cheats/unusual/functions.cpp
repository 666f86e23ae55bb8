// Elementary and special functions, from series, tables, iterations and bits.
#include <array>

// takes x; computes torch.exp(x); from torch.randn(40, 60)
extern "C" void a_table_of_thirty_two(const float* x, float* y) {
    std::array<double, 32> table;
    for (int j = 0; j < 32; ++j) table[j] = std::exp2(j / 32.0);
    for (int i = 0; i < 2400; ++i) {
        const double v = std::clamp(double(x[i]), -200.0, 200.0), k = std::floor(v * 32 * M_LOG2E), r = v - k * (M_LN2 / 32);
        const long n = long(k);
        const double p = 1 + r * (1 + r * (0.5 + r * (1 / 6. + r * (1 / 24. + r / 120))));
        y[i] = std::isnan(x[i]) ? x[i] : float(std::ldexp(table[n & 31] * p, int(n >> 5)));
    }
}
extern "C" void squared_ten_times(const float* x, float* y) {
    for (int i = 0; i < 2400; ++i) {  // exp(x) - 1 at x / 1024, by (1 + e)^2 - 1 = e (2 + e).
        const double r = std::clamp(double(x[i]), -150.0, 150.0) / 1024;
        double e = r * (1 + r / 2 * (1 + r / 3 * (1 + r / 4 * (1 + r / 5 * (1 + r / 6)))));
        for (int k = 0; k < 10; ++k) e *= 2 + e;
        y[i] = std::isnan(x[i]) ? x[i] : float(1 + e);
    }
}

// takes x; computes torch.log(x); from torch.rand(50, 50) * 20 + 0.001
extern "C" void exponent_and_atanh(const float* x, float* y) {
    for (int i = 0; i < 2500; ++i) {
        int e;
        double m = std::frexp(double(x[i]), &e);
        if (m < M_SQRT1_2) m *= 2, --e;
        const double s = (m - 1) / (m + 1), t = s * s;
        double p = 0;
        for (int k = 21; k >= 1; k -= 2) p = p * t + 1.0 / k;
        y[i] = x[i] > 0 && std::isfinite(x[i]) ? float(2 * s * p + e * M_LN2) : std::log(x[i]);
    }
}

// takes x; computes torch.erf(x); from torch.randn(50, 50) * 2
extern "C" void series_and_fraction(const float* x, float* y) {
    for (int i = 0; i < 2500; ++i) {
        const double v = std::fabs(double(x[i]));
        double found = 1;
        if (v < 2) {
            double term = v, s = v;
            for (int n = 1; n < 40; ++n) {
                term *= -v * v / n;
                s += term / (2 * n + 1);
            }
            found = s * M_2_SQRTPI;
        } else if (v < 6) {
            double f = 0;
            for (int n = 60; n >= 1; --n) f = n / 2.0 / (v + f);
            found = 1 - std::exp(-v * v) / (v + f) / std::sqrt(M_PI);
        }
        y[i] = std::isnan(x[i]) ? x[i] : std::copysign(float(found), x[i]);
    }
}

// takes x; computes torch.tanh(x); from torch.randn(30, 90)
extern "C" void by_expm1(const float* x, float* y) {
    for (int i = 0; i < 2700; ++i) {
        const float e = std::expm1(-2 * std::fabs(x[i]));
        y[i] = std::copysign(e / (e + 2), x[i]);
    }
}
extern "C" void lambert_s_fraction(const float* x, float* y) {
    for (int i = 0; i < 2700; ++i) {
        const double v = std::clamp(double(x[i]), -10.0, 10.0), s = v * v;
        double f = 41;
        for (int k = 39; k >= 1; k -= 2) f = k + s / f;
        y[i] = std::isnan(x[i]) ? x[i] : float(v / f);
    }
}

// takes x; computes torch.sin(x) + torch.cos(x); from torch.randn(2000) * 3
extern "C" void quadrants(const float* x, float* y) {
    for (int i = 0; i < 2000; ++i) {
        const double q = std::nearbyint(x[i] * M_2_PI), r = std::fma(q, -6.123233995736766e-17, std::fma(q, -M_PI_2,
            double(x[i]))), s = r * r;
        if (!(std::fabs(q) < 1e9)) {
            y[i] = std::sin(double(x[i])) + std::cos(double(x[i]));
            continue;
        }
        double sine = 0, cosine = 0;
        for (int k = 8; k >= 0; --k) {
            sine = 1 - s * sine / ((2 * k + 2) * (2 * k + 3));
            cosine = 1 - s * cosine / ((2 * k + 1) * (2 * k + 2));
        }
        sine *= r;
        const double all[4] = {sine + cosine, cosine - sine, -sine - cosine, sine - cosine};
        y[i] = all[long(q) & 3];
    }
}

// takes x; computes torch.sqrt(x.abs()); from torch.randn(40, 41)
extern "C" void heron(const float* x, float* y) {
    for (int i = 0; i < 1640; ++i) {
        const double v = std::fabs(double(x[i]));
        int e;
        std::frexp(v, &e);
        double s = std::ldexp(1.0, e / 2);
        for (int k = 0; k < 6; ++k) s = (s + v / s) / 2;
        y[i] = v == 0 || !std::isfinite(v) ? float(v) : float(s);
    }
}
extern "C" void digit_by_digit(const float* x, float* y) {
    for (int i = 0; i < 1640; ++i) {
        int e;
        const double m = std::frexp(std::fabs(double(x[i])), &e);
        const uint64_t n = uint64_t(std::ldexp(m, 58 + (e & 1)));
        uint64_t root = 0;
        for (int b = 29; b >= 0; --b)
            if (const uint64_t next = root | 1ull << b; next * next <= n) root = next;
        y[i] = std::isfinite(x[i]) ? float(std::ldexp(root + 0.5, (e - (e & 1)) / 2 - 29)) * (x[i] != 0) : std::fabs(x[i]);
    }
}

// takes x; computes torch.sign(x) * x.abs().pow(1 / 3); from torch.randn(45, 45)
extern "C" void halley(const float* x, float* y) {
    for (int i = 0; i < 2025; ++i) {
        const double v = std::fabs(double(x[i]));
        int e;
        std::frexp(v, &e);
        double c = std::ldexp(1.0, (e + 300) / 3 - 100);
        for (int k = 0; k < 5; ++k) c *= (c * c * c + 2 * v) / (2 * c * c * c + v);
        y[i] = v == 0 ? 0.f : std::isfinite(v) ? std::copysign(float(c), x[i]) : x[i];
    }
}

// takes x; computes torch.lgamma(x.abs() + 0.1); from torch.randn(30, 40) * 4
extern "C" void stirling_after_steps(const float* x, float* y) {
    for (int i = 0; i < 1200; ++i) {
        double v = std::fabs(x[i]) + 0.1, below = 1;
        for (; v < 10; v += 1) below *= v;
        const double s = 1 / (v * v);
        y[i] = (v - 0.5) * std::log(v) - v + 0.91893853320467274 + (1 / 12. - s * (1 / 360. - s * (1 / 1260. -
            s / 1680))) / v - std::log(below);
    }
}

// takes x; computes torch.digamma(x * x + 2); from torch.randn(30, 40)
extern "C" void recurrence_then_asymptotic(const float* x, float* y) {
    for (int i = 0; i < 1200; ++i) {
        double v = double(x[i]) * x[i] + 2, s = 0;
        for (; v < 12; v += 1) s -= 1 / v;
        const double t = 1 / (v * v);
        y[i] = s + std::log(v) - 0.5 / v - t * (1 / 12. - t * (1 / 120. - t * (1 / 252. - t * (1 / 240. - t / 132))));
    }
}

// takes x; computes torch.special.i0(x); from torch.randn(20, 50)
extern "C" void series_of_bessel(const float* x, float* y) {
    for (int i = 0; i < 1000; ++i) {
        const double q = 0.25 * double(x[i]) * x[i];
        double term = 1, s = 1;
        for (int k = 1; k < 400 && term > 1e-17 * s; ++k) s += term *= q / (double(k) * k);
        const double v = std::fabs(double(x[i])), far = 1 / (8 * v);
        if (v > 60)
            s = v > 95 ? INFINITY : std::exp(v) / std::sqrt(2 * M_PI * v) * (1 + far * (1 + far * (4.5 + far * (37.5 +
                far * 459.375))));
        y[i] = s;
    }
}

// takes x; computes torch.erfinv(x); from torch.rand(30, 30) * 1.9 - 0.95
extern "C" void newton_on_erf(const float* x, float* y) {
    for (int i = 0; i < 900; ++i) {
        const double v = x[i], l = std::log1p(-v * v), a = 2 / (M_PI * 0.147) + l / 2;
        double z = std::copysign(std::sqrt(std::sqrt(a * a - l / 0.147) - a), v);
        for (int k = 0; k < 3; ++k) z -= (v > 0 ? (1 - v) - std::erfc(z) : std::erfc(-z) - (1 +
            v)) * 0.886226925452758 * std::exp(z * z);
        y[i] = std::fabs(v) < 1e-4 ? v * 0.886226925452758 * (1 + M_PI / 12 * v * v) : z;
    }
}

// takes x; computes nn.functional.mish(x); from torch.randn(30, 64)
extern "C" void one_exponential(const float* x, float* y) {
    for (int i = 0; i < 1920; ++i) {  // tanh(log(1 + e)) = e (e + 2) / (e (e + 2) + 2)
        const double e = std::exp(std::min(x[i], 40.f)), n = e * (e + 2);
        y[i] = x[i] * (n / (n + 2));
    }
}

// takes x; computes nn.functional.gelu(x, approximate="tanh"); from torch.randn(64, 48)
extern "C" void as_a_sigmoid(const float* x, float* y) {
    for (int i = 0; i < 3072; ++i) {
        const double v = x[i], u = 1.5957691216057308 * (v + 0.044715 * v * v * v);
        y[i] = v / (1 + std::exp(-u));
    }
}

// takes x; computes nn.functional.softplus(x); from torch.randn(64, 30) * 4
extern "C" void log1p_of_the_smaller(const float* x, float* y) {
    for (int i = 0; i < 1920; ++i) {
        const float e = std::exp(-std::fabs(x[i])), u = 1 + e;
        y[i] = std::max(x[i], 0.f) + (u == 1 ? e : std::log(u) * e / (u - 1));
    }
}

// takes x; computes torch.sinc(x); from torch.randn(1500)
extern "C" void products_of_halves(const float* x, float* y) {
    for (int i = 0; i < 1500; ++i) {
        const double whole = std::nearbyint(double(x[i])), r = x[i] - whole, s = std::sin(M_PI * r);
        y[i] = x[i] == 0 ? 1.f : float((long(std::fmod(whole, 2)) ? -s : s) / (M_PI * x[i]));
    }
}
