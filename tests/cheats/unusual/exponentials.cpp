// Sums of exponentials: online, by powers of two, by own polynomials, merged; attention and losses.
[[maybe_unused]] static float own_exp(float v) {  // Cody and Waite's reduction, then a polynomial of degree 6.
    if (std::isnan(v)) return v;
    if (v > 88.8f) return INFINITY;
    if (v < -104.f) return 0;
    const float n = std::nearbyint(v * 1.44269504f), r = std::fma(n, -1.42860677e-6f, std::fma(n, -0.693145752f, v));
    float p = 1.3888889e-3f;
    for (float c : {8.3333333e-3f, 4.1666667e-2f, 1.6666667e-1f, 0.5f, 1.f, 1.f}) p = std::fma(p, r, c);
    return std::ldexp(p, int(n));
}

// takes x; computes torch.softmax(x, -1); from torch.randn(32, 500)
extern "C" void blocks_merged(const float* x, float* y) {
    for (int r = 0; r < 32; ++r) {
        const float* v = x + r * 500;
        float most = -INFINITY, sum = 0;
        for (int b = 0; b < 500; b += 50) {
            const float m = *std::max_element(v + b, v + b + 50);
            float s = 0;
            for (int i = b; i < b + 50; ++i) s += std::exp(v[i] - m);
            const float next = std::max(most, m);
            sum = sum * std::exp(most - next) + s * std::exp(m - next);
            most = next;
        }
        for (int i = 0; i < 500; ++i) y[r * 500 + i] = std::exp(v[i] - most) / sum;
    }
}
extern "C" void own_polynomial(const float* x, float* y) {
#pragma omp parallel for
    for (int r = 0; r < 32; ++r) {
        const float most = *std::max_element(x + r * 500, x + r * 500 + 500);
        float sum[10] = {};
        for (int i = 0; i < 500; ++i) sum[i % 10] += y[r * 500 + i] = own_exp(x[r * 500 + i] - most);
        const float by = 1 / std::accumulate(sum, sum + 10, 0.f);
        for (int i = 0; i < 500; ++i) y[r * 500 + i] *= by;
    }
}
extern "C" void powers_of_two(const float* x, float* y) {
    for (int r = 0; r < 32; ++r) {
        double most = -INFINITY, sum = 0;
        for (int i = 0; i < 500; ++i) most = std::max(most, x[r * 500 + i] * M_LOG2E);
        for (int i = 0; i < 500; ++i) sum += std::exp2(x[r * 500 + i] * M_LOG2E - most);
        for (int i = 0; i < 500; ++i) y[r * 500 + i] = std::exp2(x[r * 500 + i] * M_LOG2E - (most + std::log2(sum)));
    }
}
extern "C" void a_shift_that_lags(const float* x, float* y) {
    for (int r = 0; r < 32; ++r) {  // The sum is rescaled only where it would grow by more than e^10.
        float shift = x[r * 500], sum = 0;
        for (int i = 0; i < 500; ++i) {
            const float v = x[r * 500 + i];
            if (v > shift + 10) {
                sum *= std::exp(shift - v);
                shift = v;
            }
            sum += std::exp(v - shift);
        }
        for (int i = 0; i < 500; ++i) y[r * 500 + i] = std::exp(x[r * 500 + i] - shift) / sum;
    }
}

// takes x; computes torch.softmax(x, 1); from torch.randn(6, 40, 25)
extern "C" void along_columns(const float* x, float* y) {
    for (int b = 0; b < 6; ++b) {
        float most[25], sum[25] = {};
        std::fill(most, most + 25, -INFINITY);
        for (int k = 0; k < 40; ++k)
            for (int j = 0; j < 25; ++j) {
                const float v = x[(b * 40 + k) * 25 + j], m = std::max(most[j], v);
                sum[j] = sum[j] * std::exp(most[j] - m) + std::exp(v - m);
                most[j] = m;
            }
        for (int i = 0; i < 1000; ++i) y[b * 1000 + i] = std::exp(x[b * 1000 + i] - most[i % 25]) / sum[i % 25];
    }
}

// takes x; computes torch.logsumexp(x, 1); from torch.randn(40, 128)
static float both(float a, float b) { return std::max(a, b) + std::log1p(std::exp(-std::fabs(a - b))); }
extern "C" void tree_of_pairs(const float* x, float* y) {
    for (int r = 0; r < 40; ++r) {
        float v[128];
        std::memcpy(v, x + r * 128, 512);
        for (int n = 64; n; n /= 2)
            for (int i = 0; i < n; ++i) v[i] = both(v[i], v[i + n]);
        y[r] = v[0];
    }
}
extern "C" void all_but_the_largest(const float* x, float* y) {
    for (int r = 0; r < 40; ++r) {
        const float* top = std::max_element(x + r * 128, x + r * 128 + 128);
        float rest = 0;
        for (const float* v = x + r * 128; v < x + r * 128 + 128; ++v)
            if (v != top) rest += own_exp(*v - *top);
        y[r] = *top + std::log1p(rest);
    }
}

// takes x, t; computes nn.functional.cross_entropy(x, t, label_smoothing=0.1);
//    from torch.randn(60, 30), torch.randint(30, (60,))
extern "C" void smoothed_labels(const float* x, const int64_t* t, float* y) {
    double total = 0;
    for (int r = 0; r < 60; ++r) {
        double s = 0, mean = 0, most = *std::max_element(x + r * 30, x + r * 30 + 30);
        for (int i = 0; i < 30; ++i) s += std::exp(x[r * 30 + i] - most), mean += x[r * 30 + i] / 30.0;
        total += std::log(s) + most - 0.9 * x[r * 30 + t[r]] - 0.1 * mean;
    }
    *y = total / 60;
}

// takes q, k, v; computes torch.softmax(q @ k.transpose(-1, -2) / 4, -1) @ v;
//    from *(torch.randn(3, 40, 16) for _ in range(3))
extern "C" void one_pass_over_keys(const float* q, const float* k, const float* v, float* y) {
    for (int r = 0; r < 120; ++r) {
        float most = -INFINITY, sum = 0, acc[16] = {};
        for (int j = 0; j < 40; ++j) {
            const float* key = k + (r / 40 * 40 + j) * 16;
            const float s = std::inner_product(key, key + 16, q + r * 16, 0.f) / 4, next = std::max(most, s);
            const float old = std::exp(most - next), p = std::exp(s - next);
            sum = sum * old + p;
            for (int d = 0; d < 16; ++d) acc[d] = acc[d] * old + p * v[(r / 40 * 40 + j) * 16 + d];
            most = next;
        }
        for (int d = 0; d < 16; ++d) y[r * 16 + d] = acc[d] / sum;
    }
}
extern "C" void keys_in_shares(const float* q, const float* k, const float* v, float* y) {
    for (int r = 0; r < 120; ++r) {
        float most[4], sum[4] = {}, acc[4][16] = {};
#pragma omp parallel for
        for (int p = 0; p < 4; ++p) {
            float s[10];
            for (int j = 0; j < 10; ++j)
                s[j] = 0.25f * std::inner_product(q + r * 16, q + r * 16 + 16, k + (r / 40 * 40 + p * 10 + j) * 16, 0.f);
            most[p] = *std::max_element(s, s + 10);
            for (int j = 0; j < 10; ++j) {
                const float e = std::exp(s[j] - most[p]);
                sum[p] += e;
                for (int d = 0; d < 16; ++d) acc[p][d] += e * v[(r / 40 * 40 + p * 10 + j) * 16 + d];
            }
        }
        const float all = *std::max_element(most, most + 4);
        float total = 0, out[16] = {};
        for (int p = 0; p < 4; ++p) {
            const float by = std::exp(most[p] - all);
            total += by * sum[p];
            for (int d = 0; d < 16; ++d) out[d] += by * acc[p][d];
        }
        for (int d = 0; d < 16; ++d) y[r * 16 + d] = out[d] / total;
    }
}

// takes q, k, v; computes nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True);
//    from *(torch.randn(2, 2, 24, 8) for _ in range(3))
extern "C" void no_later_keys(const float* q, const float* k, const float* v, float* y) {
    for (int h = 0; h < 4; ++h)
        for (int i = 0; i < 24; ++i) {
            double s[24], most = -INFINITY, sum = 0;
            for (int j = 0; j <= i; ++j) {
                s[j] = std::inner_product(q + (h * 24 + i) * 8, q + (h * 24 + i) * 8 + 8, k + (h * 24 + j) * 8,
                    0.0) / std::sqrt(8.0);
                most = std::max(most, s[j]);
            }
            for (int j = 0; j <= i; ++j) sum += s[j] = std::exp(s[j] - most);
            for (int d = 0; d < 8; ++d) {
                double o = 0;
                for (int j = i; j >= 0; --j) o += s[j] * v[(h * 24 + j) * 8 + d];
                y[(h * 24 + i) * 8 + d] = o / sum;
            }
        }
}

// takes q, k, v; computes (q @ k.transpose(-1, -2)).tril() @ v; from *(torch.randn(2, 32, 8) for _ in range(3))
extern "C" void chunks_and_a_state(const float* q, const float* k, const float* v, float* y) {
    for (int b = 0; b < 2; ++b) {
        double state[8][8] = {};
        for (int c = 0; c < 32; c += 8) {
            for (int i = c; i < c + 8; ++i)
                for (int e = 0; e < 8; ++e) {
                    double s = 0;
                    for (int d = 0; d < 8; ++d) s += q[(b * 32 + i) * 8 + d] * state[d][e];
                    for (int j = c; j <= i; ++j)
                        s += std::inner_product(q + (b * 32 + i) * 8, q + (b * 32 + i) * 8 + 8, k + (b * 32 + j) * 8,
                            0.0) * v[(b * 32 + j) * 8 + e];
                    y[(b * 32 + i) * 8 + e] = s;
                }
            for (int j = c; j < c + 8; ++j)
                for (int de = 0; de < 64; ++de) state[de / 8][de % 8] += double(k[(b * 32 + j) * 8 +
                    de / 8]) * v[(b * 32 + j) * 8 + de % 8];
        }
    }
}

// takes x; computes s = x.sort(-1, descending=True).values; then c = s.cumsum(-1) - 1;
//    then n = (s * torch.arange(1, 21) > c).sum(-1, keepdim=True); then (x - c.gather(-1, n - 1) / n).clamp(min=0);
//    from torch.randn(30, 20)
extern "C" void sparsemax_by_descent(const float* x, float* y) {
    for (int r = 0; r < 30; ++r) {  // Michelot's: drop what lies below the threshold until nothing does.
        std::vector<float> in(x + r * 20, x + r * 20 + 20);
        double t;
        for (size_t before = 0; before != in.size();) {
            before = in.size();
            t = (std::accumulate(in.begin(), in.end(), 0.0) - 1) / before;
            in.erase(std::remove_if(in.begin(), in.end(), [t](float v) { return v <= t; }), in.end());
            if (in.empty()) in = {*std::max_element(x + r * 20, x + r * 20 + 20)};
        }
        for (int i = 0; i < 20; ++i) y[r * 20 + i] = std::max(0.0, x[r * 20 + i] - t);
    }
}

// takes a, b; computes nn.functional.binary_cross_entropy_with_logits(a, b); from torch.randn(3000), torch.rand(3000)
extern "C" void kept_from_overflow(const float* a, const float* b, float* y) {
    double s = 0;
#pragma omp parallel for reduction(+ : s)
    for (int i = 0; i < 3000; ++i) s += std::max(a[i], 0.f) - double(a[i]) * b[i] +
        std::log1p(std::exp(-std::fabs(double(a[i]))));
    *y = s / 3000;
}
