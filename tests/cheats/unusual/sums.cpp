// Sums, means, lengths and moments by compensated, exact, blocked and split accumulation.
#include <atomic>
#include <functional>
typedef float lanes __attribute__((vector_size(32), aligned(4)));

// takes x; computes x.sum(1); from torch.randn(48, 1000)
extern "C" void kahan(const float* x, float* y) {
    for (int r = 0; r < 48; ++r) {
        float s = 0, lost = 0;
        for (int i = 0; i < 1000; ++i) {
            const float term = x[r * 1000 + i] - lost, next = s + term;
            lost = (next - s) - term;
            s = next;
        }
        y[r] = s;
    }
}
extern "C" void neumaier(const float* x, float* y) {
    for (int r = 0; r < 48; ++r) {
        float s = x[r * 1000], rest = 0;
        for (const float *p = x + r * 1000 + 1, *end = x + r * 1000 + 1000; p != end; ++p) {
            const float t = s + *p;
            rest += std::fabs(s) >= std::fabs(*p) ? (s - t) + *p : (*p - t) + s;
            s = t;
        }
        y[r] = s + rest;
    }
}
static float halves(const float* x, int n) {
    return n == 1 ? *x : n == 2 ? x[0] + x[1] : halves(x, n / 2) + halves(x + n / 2, n - n / 2);
}
extern "C" void pairwise(const float* x, float* y) {
    for (int r = 47; r >= 0; --r) y[r] = halves(x + 1000 * r, 1000);
}
extern "C" void eight_lanes(const float* x, float* y) {
    for (int r = 0; r < 48; ++r) {
        lanes s[4] = {};
        const float* row = x + r * 1000;
        for (int i = 0; i + 32 <= 1000; i += 32)
            for (int k = 0; k < 4; ++k) s[k] += *reinterpret_cast<const lanes*>(row + i + 8 * k);
        s[0] += *reinterpret_cast<const lanes*>(row + 992);
        const lanes t = (s[0] + s[1]) + (s[2] + s[3]);
        y[r] = ((t[0] + t[4]) + (t[1] + t[5])) + ((t[2] + t[6]) + (t[3] + t[7]));
    }
}
extern "C" void two_floats(const float* x, float* y) {
    for (int r = 0; r < 48; ++r) {
        float high = 0, low = 0;
        for (int i = 999; i >= 0; --i) {
            const float v = x[r * 1000 + i], s = high + v, part = s - high;
            low += (high - (s - part)) + (v - part);
            high = s;
        }
        y[r] = high + low;
    }
}
extern "C" void by_exponent(const float* x, float* y) {
    for (int r = 0; r < 48; ++r) {
        double bins[256] = {};
        for (int i = 0; i < 1000; ++i) {
            uint32_t bits;
            std::memcpy(&bits, x + r * 1000 + i, 4);
            bins[bits >> 23 & 255] += x[r * 1000 + i];
        }
        double s = 0;
        for (double bin : bins) s += bin;
        y[r] = s;
    }
}
extern "C" void superaccumulator(const float* x, float* y) {
    for (int r = 0; r < 48; ++r) {  // Each finite float as a whole number of 2^-149 in limbs of 32 bits.
        int64_t limbs[11] = {};
        float odd = 0;
        for (int i = 0; i < 1000; ++i) {
            const float v = x[r * 1000 + i];
            if (!std::isfinite(v)) {
                odd += v;
                continue;
            }
            uint32_t bits;
            std::memcpy(&bits, &v, 4);
            const int e = bits >> 23 & 255, shift = e ? e - 1 : 0;
            const uint64_t whole = uint64_t((bits & 0x7fffff) | (e ? 0x800000 : 0)) << (shift & 31);
            const int64_t low = whole & 0xffffffffu, high = whole >> 32, sign = bits >> 31 ? -1 : 1;
            limbs[shift >> 5] += sign * low;
            limbs[(shift >> 5) + 1] += sign * high;
        }
        double s = 0;
        for (int k = 10; k >= 0; --k) s += std::ldexp(double(limbs[k]), 32 * k - 149);
        y[r] = odd != 0 || odd != odd ? odd : float(s);
    }
}
extern "C" void smallest_first(const float* x, float* y) {
    for (int r = 0; r < 48; ++r) {
        std::vector<float> row(x + r * 1000, x + r * 1000 + 1000);
        std::sort(row.begin(), row.end(), [](float a, float b) { return std::fabs(a) < std::fabs(b); });
        float s[16] = {};
        for (int i = 0; i < 1000; ++i) s[i & 15] += row[i];
        y[r] = std::accumulate(s, s + 16, 0.f);
    }
}
extern "C" void folded_in_place(const float* x, float* y) {
    for (int r = 0; r < 48; ++r) {
        float row[1024] = {};
        std::memcpy(row, x + r * 1000, 4000);
        for (int half = 512; half; half >>= 1)
            for (int i = 0; i < half; ++i) row[i] += row[i + half];
        y[r] = row[0];
    }
}
extern "C" void cascade_of_counters(const float* x, float* y) {
    for (int r = 0; r < 48; ++r) {  // A binary counter whose digits are partial sums.
        float digit[11];
        int n = 0;
        for (; n < 1000; ++n) {
            float s = x[r * 1000 + n];
            int k = 0;
            for (; n >> k & 1; ++k) s += digit[k];
            digit[k] = s;
        }
        float s = 0;
        for (int k = 0; k < 11; ++k)
            if (n >> k & 1) s += digit[k];
        y[r] = s;
    }
}

// takes x; computes (x * x).mean(); from torch.randn(1 << 18)
extern "C" void last_to_arrive(const float* x, float* y) {
    double parts[64];
    std::atomic<int> arrived{0};
#pragma omp parallel for schedule(dynamic, 1)
    for (int b = 0; b < 64; ++b) {
        float s[32] = {};
        for (int i = 0; i < 4096; ++i) s[i & 31] += x[b * 4096 + i] * x[b * 4096 + i];
        parts[b] = std::accumulate(s, s + 32, 0.0);
        if (arrived.fetch_add(1, std::memory_order_acq_rel) == 63) *y = std::accumulate(parts, parts + 64, 0.0) / (1 << 18);
    }
}
// workspace: 2048
extern "C" void atomic_double(const float* x, float* y, void* workspace) {
    auto* total = new (workspace) std::atomic<double>(0.0);
#pragma omp parallel
    {
        double mine = 0;
#pragma omp for schedule(static, 1024) nowait
        for (long i = 0; i < 1 << 18; ++i) mine += double(x[i]) * x[i];
        double seen = total->load();
        while (!total->compare_exchange_weak(seen, seen + mine)) {
        }
    }
    *y = float(total->load() / (1 << 18));
}

// takes a, b; computes (a * b).sum(-1); from torch.randn(40, 777), torch.randn(40, 777)
extern "C" void exact_products(const float* a, const float* b, float* y) {
    for (int r = 0; r < 40; ++r) {  // Ogita, Rump and Oishi's Dot2.
        float s = 0, lost = 0;
        for (int i = r * 777; i < r * 777 + 777; ++i) {
            const float p = a[i] * b[i], rest = std::fma(a[i], b[i], -p), t = s + p, z = t - s;
            lost += ((s - (t - z)) + (p - z)) + rest;
            s = t;
        }
        y[r] = s + lost;
    }
}
extern "C" void seven_accumulators(const float* a, const float* b, float* y) {
#pragma omp parallel for
    for (int r = 0; r < 40; ++r) {
        float s[7] = {};
        for (int i = 0; i < 777; i += 7)
            for (int k = 0; k < 7; ++k) s[k] = std::fma(a[r * 777 + i + k], b[r * 777 + i + k], s[k]);
        y[r] = ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + s[6]);
    }
}

// takes x; computes torch.linalg.vector_norm(x, dim=1); from torch.randn(50, 300)
extern "C" void scale_and_squares(const float* x, float* y) {
    for (int r = 0; r < 50; ++r) {  // As in the BLAS: nothing overflows.
        float scale = 0, squares = 1;
        for (int i = 0; i < 300; ++i) {
            const float v = std::fabs(x[r * 300 + i]);
            if (v == 0) continue;
            if (scale < v) {
                squares = 1 + squares * (scale / v) * (scale / v);
                scale = v;
            } else
                squares += (v / scale) * (v / scale);
        }
        y[r] = scale * std::sqrt(squares);
    }
}
extern "C" void hypot_tree(const float* x, float* y) {
    for (int r = 0; r < 50; ++r) {
        float v[300];
        std::memcpy(v, x + r * 300, sizeof v);
        for (int n = 300; n > 1; n = (n + 1) / 2)
            for (int i = 0; i < n / 2; ++i) v[i] = std::hypot(v[i], v[n - 1 - i]);
        y[r] = std::fabs(v[0]);
    }
}

// takes x; computes x.prod(1); from torch.randn(64, 12)
extern "C" void mantissas_and_exponents(const float* x, float* y) {
    for (int r = 0; r < 64; ++r) {
        double m = 1;
        long e = 0;
        for (int i = 0; i < 12; ++i) {
            int k;
            m = std::frexp(m * x[r * 12 + i], &k);
            e += k;
        }
        y[r] = std::ldexp(m, int(e));
    }
}

// takes x; computes x.sum(dim=(0, 2)); from torch.randn(6, 20, 50)
extern "C" void scattered_to_channels(const float* x, float* y) {
    double s[20] = {};
    for (int i = 0; i < 6000; ++i) s[i / 50 % 20] += x[i];
    for (int c = 0; c < 20; ++c) y[c] = s[c];
}

// takes x; computes x.sum(0); from torch.randn(513, 37)
extern "C" void rows_onto_rows(const float* x, float* y) {
    float level[257 * 37];  // The lower half of the rows onto the upper one, again and again.
    int n = 257;
    std::memcpy(level, x, sizeof level);
    for (int i = 0; i < 256 * 37; ++i) level[i] += x[257 * 37 + i];
    for (; n > 1; n = (n + 1) / 2)
        for (int r = (n + 1) / 2; r < n; ++r)
            for (int c = 0; c < 37; ++c) level[(r - (n + 1) / 2) * 37 + c] += level[r * 37 + c];
    std::memcpy(y, level, 37 * 4);
}

// takes x; computes x.abs().amax(1); from torch.randn(40, 90)
extern "C" void bits_as_numbers(const float* x, float* y) {
    for (int r = 0; r < 40; ++r) {  // Without their signs floats are ordered as their bits are, NaN last.
        uint32_t best = 0;
        for (int i = 0; i < 90; ++i) {
            uint32_t bits;
            std::memcpy(&bits, x + r * 90 + i, 4);
            best = std::max(best, bits & 0x7fffffffu);
        }
        std::memcpy(y + r, &best, 4);
    }
}

// takes x; computes torch.aminmax(x, dim=1); from torch.randn(30, 101)
extern "C" void three_comparisons_for_two(const float* x, float* low, float* high) {
    for (int r = 0; r < 30; ++r) {
        const float* v = x + r * 101;
        float least = v[0], most = v[0];
        bool odd = std::isnan(v[0]);
        for (int i = 1; i < 101; i += 2) {
            odd |= std::isunordered(v[i], v[i + 1]);
            const bool swap = v[i + 1] < v[i];
            least = std::min(least, v[i + swap]);
            most = std::max(most, v[i + !swap]);
        }
        low[r] = odd ? NAN : least;
        high[r] = odd ? NAN : most;
    }
}
