// Variances, skewness and normalisations: one pass, two passes, shifts, merges.
struct Moments {
    double n = 0, mean = 0, squares = 0;
};
[[maybe_unused]] static Moments merged(Moments a, Moments b) {
    const double n = a.n + b.n, d = b.mean - a.mean;
    return n == 0 ? a : Moments{n, a.mean + d * b.n / n, a.squares + b.squares + d * d * a.n * b.n / n};
}
[[maybe_unused]] static Moments tree(const float* x, int n) {
    return n == 1 ? Moments{1, x[0], 0} : merged(tree(x, n / 2), tree(x + n / 2, n - n / 2));
}

// takes x; computes x.var(1); from torch.randn(32, 600) - 2
extern "C" void youngs_and_cramer(const float* x, float* y) {
    for (int r = 0; r < 32; ++r) {
        const float* v = x + r * 600;
        float total = v[0], squares = 0;
        for (int i = 1; i < 600; ++i) {
            total += v[i];
            const float d = (i + 1) * v[i] - total;
            squares += d * d / (float(i + 1) * i);
        }
        y[r] = squares / 599;
    }
}
extern "C" void shifted_by_the_first(const float* x, float* y) {
    for (int r = 0; r < 32; ++r) {
        const double shift = x[r * 600];
        double s = 0, t = 0;
        for (int i = 1; i < 600; ++i) {
            const double d = x[r * 600 + i] - shift;
            s += d;
            t += d * d;
        }
        y[r] = (t - s * s / 600) / 599;
    }
}
extern "C" void chan_tree(const float* x, float* y) {
    for (int r = 0; r < 32; ++r) y[r] = tree(x + r * 600, 600).squares / 599;
}
extern "C" void corrected_two_passes(const float* x, float* y) {
    for (int r = 0; r < 32; ++r) {
        const float* v = x + r * 600;
        float mean = 0, s[8] = {}, t[8] = {};
        for (int i = 0; i < 600; ++i) s[i % 8] += v[i];
        mean = std::accumulate(s, s + 8, 0.f) / 600;
        std::fill(s, s + 8, 0.f);
        for (int i = 0; i < 600; ++i) {
            s[i % 8] += v[i] - mean;
            t[i % 8] += (v[i] - mean) * (v[i] - mean);
        }
        const float rest = std::accumulate(s, s + 8, 0.f);
        y[r] = (std::accumulate(t, t + 8, 0.f) - rest * rest / 600) / 599;
    }
}

// takes x; computes ((x - x.mean(1, keepdim=True)) ** 3).mean(1) / x.var(1, correction=0) ** 1.5;
//    from torch.randn(24, 400).exp()
extern "C" void pebay(const float* x, float* y) {
    for (int r = 0; r < 24; ++r) {
        double mean = 0, two = 0, three = 0;
        for (int i = 0; i < 400; ++i) {
            const double n = i + 1, d = x[r * 400 + i] - mean, by = d / n, term = d * by * i;
            mean += by;
            three += term * by * (n - 2) - 3 * by * two;
            two += term;
        }
        y[r] = (three / 400) / std::pow(two / 400, 1.5);
    }
}

// takes x; computes torch.cov(x); from torch.randn(12, 300)
extern "C" void online_covariance(const float* x, float* y) {
    double mean[12] = {}, c[12][12] = {};
    for (int i = 0; i < 300; ++i) {
        double before[12];
        for (int k = 0; k < 12; ++k) {
            before[k] = x[k * 300 + i] - mean[k];
            mean[k] += before[k] / (i + 1);
        }
        for (int k = 0; k < 12; ++k)
            for (int l = 0; l <= k; ++l) c[k][l] += before[k] * (x[l * 300 + i] - mean[l]);
    }
    for (int k = 0; k < 144; ++k) y[k] = c[std::max(k / 12, k % 12)][std::min(k / 12, k % 12)] / 299;
}

// takes x; computes nn.functional.layer_norm(x, (128,), self.w, self.b); from torch.randn(40, 128)
//    ; with self.w = nn.Parameter(torch.randn(128)); then self.b = nn.Parameter(torch.randn(128))
extern "C" void four_welfords(const float* x, const float* w, const float* b, float* y) {
    for (int r = 0; r < 40; ++r) {
        Moments part[4];
        for (int i = 0; i < 128; ++i) {
            Moments& m = part[i % 4];
            const double d = x[r * 128 + i] - m.mean;
            m.mean += d / ++m.n;
            m.squares += d * (x[r * 128 + i] - m.mean);
        }
        const Moments all = merged(merged(part[0], part[1]), merged(part[2], part[3]));
        const double by = 1 / std::sqrt(all.squares / 128 + 1e-5);
        for (int i = 0; i < 128; ++i) y[r * 128 + i] = (x[r * 128 + i] - all.mean) * by * w[i] + b[i];
    }
}
extern "C" void folded_affine(const float* x, const float* w, const float* b, float* y) {
#pragma omp parallel for schedule(guided)
    for (int r = 0; r < 40; ++r) {
        double s = 0, t = 0;
        for (int i = 0; i < 128; ++i) s += x[r * 128 + i];
        for (int i = 0; i < 128; ++i) t += (x[r * 128 + i] - s / 128) * (x[r * 128 + i] - s / 128);
        const double by = 1 / std::sqrt(t / 128 + 1e-5), mean = s / 128;
        for (int i = 127; i >= 0; --i) {
            const double gain = by * w[i];
            y[r * 128 + i] = x[r * 128 + i] * gain + (b[i] - mean * gain);
        }
    }
}

// takes x; computes x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.w; from torch.randn(50, 96)
//    ; with self.w = nn.Parameter(torch.randn(96))
extern "C" void newton_after_a_magic_number(const float* x, const float* w, float* y) {
    for (int r = 0; r < 50; ++r) {
        double s = 0;
        for (int i = 0; i < 96; ++i) s += double(x[r * 96 + i]) * x[r * 96 + i];
        const double v = s / 96 + 1e-6;
        uint64_t bits;
        std::memcpy(&bits, &v, 8);
        bits = 0x5fe6eb50c7b537a9u - (bits >> 1);
        double by;
        std::memcpy(&by, &bits, 8);
        for (int k = 0; k < 5; ++k) by *= 1.5 - 0.5 * v * by * by;
        for (int i = 0; i < 96; ++i) y[r * 96 + i] = float(x[r * 96 + i] * by) * w[i];
    }
}

// takes x; computes nn.functional.group_norm(x, 4, self.w, self.b); from torch.randn(5, 16, 30)
//    ; with self.w = nn.Parameter(torch.randn(16)); then self.b = nn.Parameter(torch.randn(16))
extern "C" void moments_of_channels(const float* x, const float* w, const float* b, float* y) {
    Moments group[20];
    for (int c = 0; c < 80; ++c) {
        Moments m{30, 0, 0};
        for (int i = 0; i < 30; ++i) m.mean += x[c * 30 + i] / 30.0;
        for (int i = 0; i < 30; ++i) m.squares += (x[c * 30 + i] - m.mean) * (x[c * 30 + i] - m.mean);
        group[c / 4] = merged(group[c / 4], m);
    }
    for (int i = 0; i < 2400; ++i) {
        const Moments& m = group[i / 120];
        const int c = i / 30 % 16;
        y[i] = (x[i] - m.mean) / std::sqrt(m.squares / 120 + 1e-5) * w[c] + b[c];
    }
}

// takes x; computes nn.functional.batch_norm(x, None, None, training=True); from torch.randn(16, 8, 25) * 2 + 1
extern "C" void samples_merged(const float* x, float* y) {
    for (int c = 0; c < 8; ++c) {
        Moments all;
        for (int n = 0; n < 16; ++n) all = merged(all, tree(x + (n * 8 + c) * 25, 25));
        const double by = 1 / std::sqrt(all.squares / 400 + 1e-5);
        for (int n = 0; n < 16; ++n)
            for (int i = 0; i < 25; ++i) y[(n * 8 + c) * 25 + i] = (x[(n * 8 + c) * 25 + i] - all.mean) * by;
    }
}
