// Matrix products: packed, recursive, divided, in whole numbers, by bits, of structured matrices.
#include <complex>
#include <functional>

// takes a, b; computes a @ b; from torch.randn(48, 64), torch.randn(64, 40)
extern "C" void packed_panels(const float* a, const float* b, float* y) {
    std::vector<float> panel(64 * 8);
    for (int j = 0; j < 40; j += 8) {
        for (int k = 0; k < 64; ++k) std::memcpy(&panel[k * 8], b + k * 40 + j, 32);
        for (int i = 0; i < 48; i += 4) {
            float c[4][8] = {};
            for (int k = 0; k < 64; ++k)
                for (int p = 0; p < 4; ++p)
                    for (int q = 0; q < 8; ++q) c[p][q] += a[(i + p) * 64 + k] * panel[k * 8 + q];
            for (int p = 0; p < 4; ++p) std::memcpy(y + (i + p) * 40 + j, c[p], 32);
        }
    }
}
extern "C" void outer_products(const float* a, const float* b, float* y) {
    std::fill(y, y + 48 * 40, 0.f);
    for (int k = 0; k < 64; ++k)
        for (int i = 0; i < 48; ++i)
            for (int j = 0; j < 40; ++j) y[i * 40 + j] += a[i * 64 + k] * b[k * 40 + j];
}
static void recursive(const float* a, const float* b, float* y, int m, int k, int n) {
    if (m <= 6 && k <= 8 && n <= 10) {
        for (int i = 0; i < m; ++i)
            for (int j = 0; j < n; ++j)
                for (int l = 0; l < k; ++l) y[i * 40 + j] += a[i * 64 + l] * b[l * 40 + j];
    } else if (m > 6) {
        recursive(a, b, y, m / 2, k, n);
        recursive(a + m / 2 * 64, b, y + m / 2 * 40, m - m / 2, k, n);
    } else if (n > 10) {
        recursive(a, b, y, m, k, n / 2);
        recursive(a, b + n / 2, y + n / 2, m, k, n - n / 2);
    } else {
        recursive(a, b, y, m, k / 2, n);
        recursive(a + k / 2, b + k / 2 * 40, y, m, k - k / 2, n);
    }
}
extern "C" void cache_oblivious(const float* a, const float* b, float* y) {
    std::fill_n(y, 48 * 40, 0.f);
    recursive(a, b, y, 48, 64, 40);
}
// workspace: 30720
extern "C" void split_k(const float* a, const float* b, float* y, void* workspace) {
    float* part = static_cast<float*>(workspace);
#pragma omp parallel for
    for (int s = 0; s < 4; ++s)
        for (int i = 0; i < 1920; ++i) {
            float c = 0;
            for (int k = s * 16; k < s * 16 + 16; ++k) c += a[i / 40 * 64 + k] * b[k * 40 + i % 40];
            part[s * 1920 + i] = c;
        }
    for (int i = 0; i < 1920; ++i) y[i] = (part[i] + part[1920 + i]) + (part[3840 + i] + part[5760 + i]);
}
extern "C" void transposed_first(const float* a, const float* b, float* y) {
    float t[40][64];
    for (int k = 0; k < 64; ++k)
        for (int j = 0; j < 40; ++j) t[j][k] = b[k * 40 + j];
#pragma omp parallel for collapse(2)
    for (int i = 0; i < 48; ++i)
        for (int j = 0; j < 40; ++j) y[i * 40 + j] = std::inner_product(t[j], t[j] + 64, a + i * 64, 0.f);
}

// takes a, b; computes a @ b; from torch.randn(64, 64), torch.randn(64, 64)
static std::vector<double> strassen(const std::vector<double>& a, const std::vector<double>& b, int n) {
    std::vector<double> y(n * n);
    if (n <= 16) {
        for (int i = 0; i < n * n * n; ++i) y[i / n / n * n + i % n] += a[i / n / n * n + i / n % n] * b[i / n % n * n +
            i % n];
        return y;
    }
    const int h = n / 2;
    const auto cut = [&](const std::vector<double>& m, int p, int q, double by = 0, int r = 0, int s = 0) {
        std::vector<double> part(h * h);
        for (int i = 0; i < h * h; ++i)
            part[i] = m[(p * h + i / h) * n + q * h + i % h] + by * m[(r * h + i / h) * n + s * h + i % h];
        return part;
    };
    const auto m1 = strassen(cut(a, 0, 0, 1, 1, 1), cut(b, 0, 0, 1, 1, 1), h), m2 = strassen(cut(a, 1, 0, 1, 1, 1),
        cut(b, 0, 0), h);
    const auto m3 = strassen(cut(a, 0, 0), cut(b, 0, 1, -1, 1, 1), h), m4 = strassen(cut(a, 1, 1), cut(b, 1, 0, -1, 0, 0), h);
    const auto m5 = strassen(cut(a, 0, 0, 1, 0, 1), cut(b, 1, 1), h), m6 = strassen(cut(a, 1, 0, -1, 0, 0), cut(b, 0, 0,
        1, 0, 1), h);
    const auto m7 = strassen(cut(a, 0, 1, -1, 1, 1), cut(b, 1, 0, 1, 1, 1), h);
    for (int i = 0; i < h * h; ++i) {
        const int at = i / h * n + i % h;
        y[at] = m1[i] + m4[i] - m5[i] + m7[i];
        y[at + h] = m3[i] + m5[i];
        y[at + h * n] = m2[i] + m4[i];
        y[at + h * n + h] = m1[i] - m2[i] + m3[i] + m6[i];
    }
    return y;
}
extern "C" void strassen_in_doubles(const float* a, const float* b, float* y) {
    const auto c = strassen({a, a + 4096}, {b, b + 4096}, 64);
    std::copy(c.begin(), c.end(), y);
}

// takes a, b; computes (a.int() @ b.int()).float() * 0.01; from *(torch.randint(-128, 128, s).to(torch.int8) for s
//    in ((24, 60), (60, 32)))
extern "C" void whole_accumulators(const int8_t* a, const int8_t* b, float* y) {
    for (int i = 0; i < 24; ++i)
        for (int j = 0; j < 32; ++j) {
            int32_t s = 0;
            for (int k = 0; k < 60; k += 2) s += a[i * 60 + k] * b[k * 32 + j] + a[i * 60 + k + 1] * b[k * 32 + 32 + j];
            y[i * 32 + j] = float(s) * 0.01f;
        }
}
extern "C" void offset_bytes(const int8_t* a, const int8_t* b, float* y) {
    for (int j = 0; j < 32; ++j) {  // Unsigned by signed, as the instructions want it, and what the offset adds taken off.
        int32_t columns = 0;
        for (int k = 0; k < 60; ++k) columns += b[k * 32 + j];
        for (int i = 0; i < 24; ++i) {
            int32_t s = -128 * columns;
            for (int k = 0; k < 60; ++k) s += uint8_t(a[i * 60 + k] + 128) * b[k * 32 + j];
            y[i * 32 + j] = s * 0.01f;
        }
    }
}

// takes a, b; computes torch.where(a >= 0, 1.0, -1.0) @ torch.where(b >= 0, 1.0, -1.0);
//    from torch.randn(20, 128), torch.randn(128, 24)
extern "C" void bits_that_agree(const float* a, const float* b, float* y) {
    uint64_t rows[20][2] = {}, columns[24][2] = {};
    for (int i = 0; i < 20 * 128; ++i) rows[i / 128][i % 128 / 64] |= uint64_t(a[i] >= 0) << (i % 64);
    for (int i = 0; i < 24 * 128; ++i) columns[i % 24][i / 24 / 64] |= uint64_t(b[i] >= 0) << (i / 24 % 64);
    for (int i = 0; i < 20; ++i)
        for (int j = 0; j < 24; ++j)
            y[i * 24 + j] = 128 - 2 * (__builtin_popcountll(rows[i][0] ^ columns[j][0]) +
                                       __builtin_popcountll(rows[i][1] ^ columns[j][1]));
}

// takes a, b; computes (a.float() @ b.float()) > 0; from torch.rand(30, 70) > 0.9, torch.rand(70, 50) > 0.9
extern "C" void sets_of_columns(const bool* a, const bool* b, bool* y) {
    for (int i = 0; i < 30; ++i) {
        uint64_t row = 0;
        for (int k = 0; k < 70; ++k)
            if (a[i * 70 + k])
                for (int j = 0; j < 50; ++j) row |= uint64_t(b[k * 50 + j]) << j;
        for (int j = 0; j < 50; ++j) y[i * 50 + j] = row >> j & 1;
    }
}

// takes c, x; computes torch.stack([torch.roll(c, i) for i in range(64)], 1) @ x; from torch.randn(64), torch.randn(64)
static void butterflies(std::complex<double>* v, int n, double sign) {
    for (int i = 1, j = 0; i < n; ++i) {
        int bit = n >> 1;
        for (; j & bit; bit >>= 1) j ^= bit;
        j ^= bit;
        if (i < j) std::swap(v[i], v[j]);
    }
    for (int half = 1; half < n; half *= 2)
        for (int k = 0; k < half; ++k) {
            const auto w = std::polar(1.0, sign * M_PI * k / half);
            for (int i = k; i < n; i += 2 * half) {
                const auto t = v[i + half] * w;
                v[i + half] = v[i] - t;
                v[i] += t;
            }
        }
}
extern "C" void circulant_by_fft(const float* c, const float* x, float* y) {
    std::complex<double> p[64], q[64];
    std::copy(c, c + 64, p);
    std::copy(x, x + 64, q);
    butterflies(p, 64, -1);
    butterflies(q, 64, -1);
    for (int i = 0; i < 64; ++i) p[i] *= q[i];
    butterflies(p, 64, 1);
    for (int i = 0; i < 64; ++i) y[i] = p[i].real() / 64;
}
extern "C" void circulant_by_places(const float* c, const float* x, float* y) {
    for (int i = 0; i < 64; ++i) {
        float s[4] = {};
        for (int j = 0; j < 64; ++j) s[j & 3] += c[(i - j) & 63] * x[j];
        y[i] = (s[0] + s[1]) + (s[2] + s[3]);
    }
}

// takes x, w; computes x.tril() @ w; from torch.randn(56, 56), torch.randn(56, 20)
extern "C" void below_the_diagonal(const float* x, const float* w, float* y) {
    for (int i = 55; i >= 0; --i)
        for (int j = 0; j < 20; ++j) {
            double s = 0;
            for (int k = i; k >= 0; --k) s += double(x[i * 56 + k]) * w[k * 20 + j];
            y[i * 20 + j] = s;
        }
}

// takes x; computes x @ x.t(); from torch.randn(36, 100)
extern "C" void half_of_a_square(const float* x, float* y) {
#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < 36; ++i)
        for (int j = 0; j <= i; ++j) {
            float s[5] = {};
            for (int k = 0; k < 100; ++k) s[k % 5] += x[i * 100 + k] * x[j * 100 + k];
            y[i * 36 + j] = y[j * 36 + i] = (s[0] + s[1]) + (s[2] + s[3]) + s[4];
        }
}

// takes a, b; computes torch.kron(a, b); from torch.randn(7, 9), torch.randn(5, 6)
extern "C" void one_digit_after_another(const float* a, const float* b, float* y) {
    for (int i = 0; i < 7 * 9 * 5 * 6; ++i) {
        const int row = i / 54, column = i % 54;
        y[i] = a[row / 5 * 9 + column / 6] * b[row % 5 * 6 + column % 6];
    }
}

// takes x; computes torch.linalg.matrix_power(x, 5); from torch.randn(24, 24) / 5
extern "C" void squares_and_one_more(const float* x, float* y) {
    const auto times = [](const double* a, const double* b, double* c) {
        std::fill(c, c + 576, 0.0);
        for (int i = 0; i < 24; ++i)
            for (int k = 0; k < 24; ++k)
                for (int j = 0; j < 24; ++j) c[i * 24 + j] += a[i * 24 + k] * b[k * 24 + j];
    };
    double one[576], two[576], four[576], five[576];
    std::copy(x, x + 576, one);
    times(one, one, two);
    times(two, two, four);
    times(four, one, five);
    std::copy(five, five + 576, y);
}

// takes x; computes torch.einsum("bi,bj->bij", x, x).flatten(1) @ self.w; from torch.randn(10, 16);
//    with self.w = nn.Parameter(torch.randn(256, 8))
extern "C" void folded_symmetric_weights(const float* x, const float* w, float* y) {
    double f[16][16][8];
    for (int i = 0; i < 16; ++i)
        for (int j = 0; j <= i; ++j)
            for (int o = 0; o < 8; ++o) f[i][j][o] = double(w[(i * 16 + j) * 8 + o]) + (i != j) * double(w[(j * 16 +
                i) * 8 + o]);
    for (int b = 0; b < 10; ++b)
        for (int o = 0; o < 8; ++o) {
            double s = 0;
            for (int i = 0; i < 16; ++i) {
                double t = 0;
                for (int j = 0; j <= i; ++j) t += f[i][j][o] * x[b * 16 + j];
                s += t * x[b * 16 + i];
            }
            y[b * 8 + o] = s;
        }
}

// takes a, b; computes a @ b; from torch.randn(24, 96).half(), torch.randn(96, 20).half()
extern "C" void four_floats_of_halves(const half* a, const half* b, half* y) {
    for (int i = 0; i < 24; ++i)
        for (int j = 0; j < 20; ++j) {
            float s[4] = {};
            for (int k = 0; k < 96; ++k) s[k >> 3 & 3] += float(a[i * 96 + k]) * float(b[k * 20 + j]);
            y[i * 20 + j] = half((s[0] + s[2]) + (s[1] + s[3]));
        }
}

// takes x; computes self.c[0] + x * (self.c[1] + x * (self.c[2] + x * (self.c[3] + x * (self.c[4] + x *
//    self.c[5])))); from torch.randn(70, 40)
//    ; with self.c = nn.Parameter(torch.randn(6))
extern "C" void estrin(const float* x, const float* c, float* y) {
    for (int i = 0; i < 2800; ++i) {
        const float v = x[i], s = v * v;
        y[i] = std::fma(s * s, std::fma(v, c[5], c[4]), std::fma(s, std::fma(v, c[3], c[2]), std::fma(v, c[1], c[0])));
    }
}

// takes x; computes x @ torch.tensor([[(-1.0) ** bin(i & j).count("1") for j in range(32)] for i in range(32)]);
//    from torch.randn(45, 32)
extern "C" void walsh_and_hadamard(const float* x, float* y) {
    std::memcpy(y, x, 45 * 32 * 4);
    for (int r = 0; r < 45; ++r)
        for (int h = 16; h; h >>= 1)
            for (int i = 0; i < 32; ++i)
                if (float* v = y + r * 32 + i; !(i & h)) {
                    const float a = v[0], b = v[h];
                    v[0] = a + b;
                    v[h] = a - b;
                }
}
