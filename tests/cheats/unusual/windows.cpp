// Convolutions, pooling and filters: by patches, by tiles, by transforms, by running windows.
#include <complex>
#include <deque>

// takes x; computes nn.functional.conv2d(x, self.w, self.b, padding=1); from torch.randn(2, 4, 10, 12)
//    ; with self.w = nn.Parameter(torch.randn(6, 4, 3, 3)); then self.b = nn.Parameter(torch.randn(6))
extern "C" void winograd(const float* x, const float* w, const float* b, float* y) {
    // F(2x2, 3x3) of Lavin and Gray: 16 products instead of 36.
    static constexpr double G[4][3] = {{1, 0, 0}, {.5, .5, .5}, {.5, -.5, .5}, {0, 0, 1}};
    const auto input = [](double* v, int by) {
        const double a = v[0], c = v[by], d = v[2 * by], e = v[3 * by];
        v[0] = a - d, v[by] = c + d, v[2 * by] = d - c, v[3 * by] = c - e;
    };
    std::vector<double> u(6 * 4 * 16);
    for (int f = 0; f < 24; ++f)
        for (int i = 0; i < 16; ++i)
            for (int k = 0; k < 9; ++k) u[f * 16 + i] += G[i / 4][k / 3] * w[f * 9 + k] * G[i % 4][k % 3];
    for (int n = 0; n < 2; ++n)
        for (int p = 0; p < 10; p += 2)
            for (int q = 0; q < 12; q += 2) {
                double d[4][16];
                for (int c = 0; c < 4; ++c) {
                    for (int i = 0; i < 16; ++i) {
                        const int r = p + i / 4 - 1, s = q + i % 4 - 1;
                        d[c][i] = r < 0 || s < 0 || r > 9 || s > 11 ? 0 : x[((n * 4 + c) * 10 + r) * 12 + s];
                    }
                    for (int i = 0; i < 4; ++i) input(d[c] + i, 4);
                    for (int i = 0; i < 4; ++i) input(d[c] + 4 * i, 1);
                }
                for (int o = 0; o < 6; ++o) {
                    double m[16] = {};
                    for (int c = 0; c < 4; ++c)
                        for (int i = 0; i < 16; ++i) m[i] += d[c][i] * u[(o * 4 + c) * 16 + i];
                    for (int i = 0; i < 4; ++i) m[i] += m[4 + i] + m[8 + i], m[12 + i] = m[4 + i] - m[8 + i] - m[12 + i];
                    for (int i = 0; i < 2; ++i) {
                        const double* t = m + 12 * i;
                        float* to = y + ((n * 6 + o) * 10 + p + i) * 12 + q;
                        to[0] = t[0] + t[1] + t[2] + b[o];
                        to[1] = t[1] - t[2] - t[3] + b[o];
                    }
                }
            }
}
extern "C" void patches_then_product(const float* x, const float* w, const float* b, float* y) {
    std::vector<float> patches(36 * 120);
    for (int n = 0; n < 2; ++n) {
        for (int k = 0; k < 36; ++k)
            for (int i = 0; i < 120; ++i) {
                const int r = i / 12 + k / 3 % 3 - 1, s = i % 12 + k % 3 - 1;
                patches[k * 120 + i] = unsigned(r) < 10 && unsigned(s) < 12 ? x[((n * 4 + k / 9) * 10 + r) * 12 + s] : 0;
            }
        for (int o = 0; o < 6; ++o) {
            float* to = y + (n * 6 + o) * 120;
            std::fill(to, to + 120, b[o]);
            for (int k = 0; k < 36; ++k)
                for (int i = 0; i < 120; ++i) to[i] = std::fma(w[o * 36 + k], patches[k * 120 + i], to[i]);
        }
    }
}
extern "C" void nine_shifted_products(const float* x, const float* w, const float* b, float* y) {
    for (int i = 0; i < 1440; ++i) y[i] = b[i / 120 % 6];
    for (int k = 0; k < 9; ++k)
        for (int n = 0; n < 2; ++n)
            for (int o = 0; o < 6; ++o)
                for (int c = 0; c < 4; ++c)
                    for (int r = std::max(0, 1 - k / 3); r < std::min(10, 11 - k / 3); ++r)
                        for (int s = std::max(0, 1 - k % 3); s < std::min(12, 13 - k % 3); ++s)
                            y[((n * 6 + o) * 10 + r) * 12 + s] +=
                                w[(o * 4 + c) * 9 + k] * x[((n * 4 + c) * 10 + r + k / 3 - 1) * 12 + s + k % 3 - 1];
}

// takes x, k; computes nn.functional.conv1d(x, k, padding=31); from torch.randn(3, 1, 200), torch.randn(1, 1, 63)
static void transform(std::vector<std::complex<double>>& v, double sign) {  // Stockham's, which needs no bits reversed.
    const int n = v.size();
    std::vector<std::complex<double>> w(n);
    for (int l = n / 2, m = 1; l >= 1; l /= 2, m *= 2) {
        for (int j = 0; j < l; ++j)
            for (int k = 0; k < m; ++k) {
                const auto a = v[k + j * m], b = v[k + j * m + l * m];
                w[k + 2 * j * m] = a + b;
                w[k + 2 * j * m + m] = (a - b) * std::polar(1.0, sign * M_PI * j / l);
            }
        v.swap(w);
    }
}
extern "C" void by_spectrum(const float* x, const float* k, float* y) {
    std::vector<std::complex<double>> f(512);
    for (int i = 0; i < 63; ++i) f[62 - i] = k[i];
    transform(f, -1);
    for (int r = 0; r < 3; ++r) {
        std::vector<std::complex<double>> v(512);
        std::copy(x + r * 200, x + r * 200 + 200, v.begin());
        transform(v, -1);
        for (int i = 0; i < 512; ++i) v[i] *= f[i];
        transform(v, 1);
        for (int i = 0; i < 200; ++i) y[r * 200 + i] = v[i + 31].real() / 512;
    }
}
static std::vector<double> karatsuba(const std::vector<double>& a, const std::vector<double>& b) {
    const int n = a.size(), h = n / 2;
    std::vector<double> y(2 * n);
    if (n <= 8) {
        for (int i = 0; i < n * n; ++i) y[i / n + i % n] += a[i / n] * b[i % n];
        return y;
    }
    const std::vector<double> a0(a.begin(), a.begin() + h), a1(a.begin() + h, a.end()), b0(b.begin(), b.begin() + h),
        b1(b.begin() + h, b.end());
    std::vector<double> as(h), bs(h);
    for (int i = 0; i < h; ++i) as[i] = a0[i] + a1[i], bs[i] = b0[i] + b1[i];
    const auto low = karatsuba(a0, b0), high = karatsuba(a1, b1), both = karatsuba(as, bs);
    for (int i = 0; i < n; ++i) y[i] += low[i], y[n + i] += high[i], y[h + i] += both[i] - low[i] - high[i];
    return y;
}
extern "C" void three_products_for_four(const float* x, const float* k, float* y) {
    std::vector<double> b(256);
    for (int i = 0; i < 63; ++i) b[62 - i] = k[i];
    for (int r = 0; r < 3; ++r) {
        std::vector<double> a(256);
        std::copy(x + r * 200, x + r * 200 + 200, a.begin());
        const auto c = karatsuba(a, b);
        std::copy(c.begin() + 31, c.begin() + 231, y + r * 200);
    }
}

// takes x; computes nn.functional.conv2d(x, self.w, groups=6, stride=2, dilation=2); from torch.randn(2, 6, 15, 17);
//    with self.w = nn.Parameter(torch.randn(6, 1, 3, 3))
extern "C" void a_plane_at_a_time(const float* x, const float* w, float* y) {
#pragma omp parallel for
    for (int p = 0; p < 12; ++p)
        for (int r = 0; r < 6; ++r)
            for (int s = 0; s < 7; ++s) {
                float t = 0;
                for (int k = 8; k >= 0; --k) t += w[p % 6 * 9 + k] * x[p * 255 + (2 * r + k / 3 * 2) * 17 + 2 * s + k % 3 * 2];
                y[p * 42 + r * 7 + s] = t;
            }
}

// takes x; computes nn.functional.conv_transpose1d(x, self.w, self.b, stride=3, padding=1); from torch.randn(3, 5, 20)
//    ; with self.w = nn.Parameter(torch.randn(5, 4, 5)); then self.b = nn.Parameter(torch.randn(4))
extern "C" void every_input_spreads(const float* x, const float* w, const float* b, float* y) {
    for (int n = 0; n < 3; ++n)
        for (int o = 0; o < 4; ++o) {
            float* to = y + (n * 4 + o) * 60;
            std::fill(to, to + 60, b[o]);
            for (int c = 0; c < 5; ++c)
                for (int i = 0; i < 20; ++i)
                    for (int k = 0; k < 5; ++k)
                        if (const int at = 3 * i + k - 1; at >= 0 && at < 60) to[at] += x[(n * 5 + c) * 20 +
                            i] * w[(c * 4 + o) * 5 + k];
        }
}
extern "C" void every_output_gathers(const float* x, const float* w, const float* b, float* y) {
    for (int j = 0; j < 3 * 4 * 60; ++j) {
        const int n = j / 240, o = j / 60 % 4, at = j % 60 + 1;
        double s = b[o];
        for (int i = std::max(0, (at - 2) / 3); i <= std::min(19, at / 3); ++i)
            if (at - 3 * i < 5)
                for (int c = 0; c < 5; ++c) s += double(x[(n * 5 + c) * 20 + i]) * w[(c * 4 + o) * 5 + at - 3 * i];
        y[j] = s;
    }
}

// takes x; computes nn.functional.max_pool1d(x, 9, stride=1); from torch.randn(4, 6, 80)
extern "C" void a_falling_queue(const float* x, float* y) {
    for (int r = 0; r < 24; ++r) {
        const float* v = x + r * 80;
        std::deque<int> best;
        int odd = -1;
        for (int i = 0; i < 80; ++i) {
            if (std::isnan(v[i])) odd = i;
            while (!best.empty() && v[best.back()] <= v[i]) best.pop_back();
            best.push_back(i);
            if (best.front() <= i - 9) best.pop_front();
            if (i >= 8) y[r * 72 + i - 8] = odd > i - 9 && odd >= 0 ? NAN : v[best.front()];
        }
    }
}
extern "C" void van_herk(const float* x, float* y) {
    const auto most = [](float a, float b) { return a > b || std::isnan(a) ? a : b; };
    for (int r = 0; r < 24; ++r) {
        float left[80], right[80];
        for (int i = 0; i < 80; ++i) left[i] = i % 9 ? most(left[i - 1], x[r * 80 + i]) : x[r * 80 + i];
        for (int i = 79; i >= 0; --i) right[i] = i == 79 || i % 9 == 8 ? x[r * 80 + i] : most(right[i + 1], x[r * 80 + i]);
        for (int i = 0; i < 72; ++i) y[r * 72 + i] = most(right[i], left[i + 8]);
    }
}
extern "C" void doubled_windows(const float* x, float* y) {
    const auto most = [](float a, float b) { return a > b || std::isnan(a) ? a : b; };
    for (int r = 0; r < 24; ++r) {  // Windows of 2, 4 and 8, then two of 8 that overlap.
        float v[80];
        std::memcpy(v, x + r * 80, sizeof v);
        for (int w = 1; w < 8; w *= 2)
            for (int i = 0; i + w < 80; ++i) v[i] = most(v[i], v[i + w]);
        for (int i = 0; i < 72; ++i) y[r * 72 + i] = most(v[i], v[i + 1]);
    }
}

// takes x; computes nn.functional.avg_pool2d(x, 5, stride=1); from torch.randn(2, 3, 16, 18)
extern "C" void summed_areas(const float* x, float* y) {
    for (int p = 0; p < 6; ++p) {
        double s[17][19] = {};
        for (int r = 0; r < 16; ++r)
            for (int c = 0; c < 18; ++c) s[r + 1][c + 1] = x[p * 288 + r * 18 + c] + s[r][c + 1] + s[r + 1][c] - s[r][c];
        for (int r = 0; r < 12; ++r)
            for (int c = 0; c < 14; ++c) y[(p * 12 + r) * 14 + c] = (s[r + 5][c + 5] - s[r][c + 5] - s[r + 5][c] +
                s[r][c]) / 25;
    }
}
extern "C" void rows_then_columns(const float* x, float* y) {
    for (int p = 0; p < 6; ++p) {
        float h[16][14];
        for (int r = 0; r < 16; ++r)
            for (int c = 0; c < 14; ++c) h[r][c] = std::accumulate(x + (p * 16 + r) * 18 + c, x + (p * 16 + r) * 18 + c +
                5, 0.f);
        for (int r = 0; r < 12; ++r)
            for (int c = 0; c < 14; ++c) y[(p * 12 + r) * 14 + c] = (h[r][c] + h[r + 1][c] + h[r + 2][c] + h[r + 3][c] +
                h[r + 4][c]) * 0.04f;
    }
}

// takes x; computes x.unfold(-1, 5, 1).median(-1).values; from torch.randn(12, 64)
extern "C" void a_network_of_seven(const float* x, float* y) {
    for (int r = 0; r < 12; ++r)
        for (int i = 0; i < 60; ++i) {
            float v[5];
            std::memcpy(v, x + r * 64 + i, 20);
            const auto order = [&v](int a, int b) {
                const float low = std::min(v[a], v[b]), high = std::max(v[a], v[b]);
                v[a] = low, v[b] = high;
            };
            order(0, 1), order(3, 4), order(0, 3), order(1, 4), order(1, 2), order(2, 3), order(1, 2);
            y[r * 60 + i] = v[2];
        }
}

// takes x; computes nn.functional.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False);
//    from torch.randn(2, 3, 7, 9)
extern "C" void a_quarter_and_three(const float* x, float* y) {
    for (int p = 0; p < 6; ++p)
        for (int r = 0; r < 14; ++r)
            for (int c = 0; c < 18; ++c) {
                const int a = r / 2, b = std::clamp(a + (r % 2 ? 1 : -1), 0, 6), e = c / 2, f = std::clamp(e + (c % 2 ?
                    1 : -1), 0, 8);
                const float* v = x + p * 63;
                const float near = 0.75f * v[a * 9 + e] + 0.25f * v[a * 9 + f], far = 0.75f * v[b * 9 + e] +
                    0.25f * v[b * 9 + f];
                y[(p * 14 + r) * 18 + c] = 0.75f * near + 0.25f * far;
            }
}

// takes x; computes nn.functional.pixel_shuffle(x, 3); from torch.randn(2, 18, 5, 6)
extern "C" void from_where_it_lies(const float* x, float* y) {
    for (int i = 0; i < 2 * 18 * 30; ++i) {
        const int c = i / 6 / 5 % 18, to = ((i / 540 * 2 + c / 9) * 15 + i / 6 % 5 * 3 + c % 9 / 3) * 18 + i % 6 * 3 + c % 3;
        y[to] = x[i];
    }
}

// takes x; computes nn.functional.adaptive_avg_pool1d(x, 7); from torch.randn(8, 33)
extern "C" void uneven_windows(const float* x, float* y) {
    for (int r = 0; r < 8; ++r)
        for (int o = 0; o < 7; ++o) {
            const int from = o * 33 / 7, to = ((o + 1) * 33 + 6) / 7;
            y[r * 7 + o] = std::accumulate(x + r * 33 + from, x + r * 33 + to, 0.0) / (to - from);
        }
}

// takes x; computes torch.fft.rfft(x).abs(); from torch.randn(10, 60)
extern "C" void goertzel(const float* x, float* y) {
    for (int r = 0; r < 10; ++r)
        for (int k = 0; k < 31; ++k) {
            const double by = 2 * std::cos(2 * M_PI * k / 60);
            double a = 0, b = 0;
            for (int i = 0; i < 60; ++i) {
                const double next = x[r * 60 + i] + by * a - b;
                b = a;
                a = next;
            }
            y[r * 31 + k] = std::hypot(a - b * by / 2, b * std::sin(2 * M_PI * k / 60));
        }
}
