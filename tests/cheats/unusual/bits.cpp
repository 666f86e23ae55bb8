// Signs, rounding, conversions and whole numbers by their bits.
template <typename T, typename V>
[[maybe_unused]] static T as(V v) {
    static_assert(sizeof(T) == sizeof(V));
    T t;
    std::memcpy(&t, &v, sizeof t);
    return t;
}

// takes x; computes x.abs() - torch.sign(x); from torch.randn(50, 40)
extern "C" void without_the_sign(const float* x, float* y) {
    for (int i = 0; i < 2000; ++i) {
        const uint32_t b = as<uint32_t>(x[i]), size = b & 0x7fffffff;
        const float one = size == 0 || size > 0x7f800000 ? 0.f : as<float>((b & 0x80000000u) | 0x3f800000u);
        y[i] = as<float>(size) - one;
    }
}

// takes x; computes torch.round(x); from torch.randn(60, 33) * 9
extern "C" void a_large_number_added(const float* x, float* y) {
    for (int i = 0; i < 1980; ++i) {
        volatile float large = std::copysign(8388608.f, x[i]);
        y[i] = std::fabs(x[i]) < 8388608.f ? std::copysign((x[i] + large) - large, x[i]) : x[i];
    }
}

// takes x; computes torch.floor(x) + torch.trunc(x * 0.5); from torch.randn(60, 33) * 9
extern "C" void masked_fractions(const float* x, float* y) {
    const auto cut = [](float v) {
        const uint32_t b = as<uint32_t>(v);
        const int e = int(b >> 23 & 255) - 127;
        return e < 0 ? as<float>(b & 0x80000000u) : e >= 23 ? v : as<float>(b & ~(0x7fffffu >> e));
    };
    for (int i = 0; i < 1980; ++i) {
        const float t = cut(x[i]);
        y[i] = (t > x[i] ? t - 1 : t) + cut(x[i] * 0.5f);
    }
}

// takes x; computes x.bfloat16(); from torch.randn(40, 50)
extern "C" void half_to_even(const float* x, uint16_t* y) {
    for (int i = 0; i < 2000; ++i) {
        const uint32_t b = as<uint32_t>(x[i]), low = b & 0xffff;
        y[i] = (b & 0x7fffffff) > 0x7f800000 ? 0x7fc0 : (b >> 16) + (low > 0x8000 || (low == 0x8000 && (b >> 16 & 1)));
    }
}

// takes x; computes x.float() * 3; from torch.randn(40, 50).half()
extern "C" void widened_by_a_product(const uint16_t* x, float* y) {
    for (int i = 0; i < 2000; ++i) {  // The exponent's bias comes with a factor of 2^112.
        const uint32_t b = x[i] & 0x7fff;
        const float v = b >= 0x7c00 ? as<float>(b << 13 | 0x7f800000u) : as<float>(b << 13) * 5.192296858534828e33f;
        y[i] = (x[i] & 0x8000 ? -v : v) * 3;
    }
}

// takes x; computes torch.nan_to_num(torch.log(x), nan=0.0, posinf=1.0, neginf=-9.0); from torch.randn(50, 30)
extern "C" void told_by_exponents(const float* x, float* y) {
    for (int i = 0; i < 1500; ++i) {
        const uint32_t b = as<uint32_t>(std::log(x[i]));
        y[i] = (b & 0x7f800000) != 0x7f800000 ? as<float>(b) : b & 0x7fffff ? 0.f : b >> 31 ? -9.f : 1.f;
    }
}

// takes a, b; computes torch.remainder(a, b); from torch.randn(900) * 7, torch.rand(900) + 0.5
extern "C" void sign_of_the_divisor(const float* a, const float* b, float* y) {
    for (int i = 0; i < 900; ++i) {
        float m = std::fmod(a[i], b[i]);
        if (m != 0 && (m < 0) != (b[i] < 0)) m += b[i];
        y[i] = m;
    }
}

// takes a, b; computes torch.gcd(a, b); from torch.randint(1, 5000, (700,)), torch.randint(1, 5000, (700,))
extern "C" void binary_gcd(const int64_t* a, const int64_t* b, int64_t* y) {
    for (int i = 0; i < 700; ++i) {
        uint64_t u = std::abs(a[i]), v = std::abs(b[i]);
        if (u && v) {
            const int shared = __builtin_ctzll(u | v);
            u >>= __builtin_ctzll(u);
            while (v) {
                v >>= __builtin_ctzll(v);
                if (u > v) std::swap(u, v);
                v -= u;
            }
            y[i] = u << shared;
        } else
            y[i] = u | v;
    }
}

// takes x; computes sum((x >> i) & 1 for i in range(32)); from torch.randint(0, 1 << 31, (1500,))
extern "C" void a_table_of_bytes(const int64_t* x, int64_t* y) {
    uint8_t table[256] = {};
    for (int i = 1; i < 256; ++i) table[i] = table[i / 2] + (i & 1);
    for (int i = 0; i < 1500; ++i) {
        const uint32_t v = x[i];
        y[i] = table[v & 255] + table[v >> 8 & 255] + table[v >> 16 & 255] + table[v >> 24];
    }
}
extern "C" void sideways(const int64_t* x, int64_t* y) {
    for (int i = 0; i < 1500; ++i) {
        uint32_t v = x[i];
        v -= v >> 1 & 0x55555555u;
        v = (v & 0x33333333u) + (v >> 2 & 0x33333333u);
        y[i] = ((v + (v >> 4)) & 0x0f0f0f0fu) * 0x01010101u >> 24;
    }
}

// takes x; computes x // 7 + x % 7; from torch.randint(-100000, 100000, (1200,))
extern "C" void by_a_reciprocal(const int64_t* x, int64_t* y) {
    for (int i = 0; i < 1200; ++i) {
        int64_t q = int64_t(std::floor(double(x[i]) * (1 / 7.0)));
        for (; x[i] - q * 7 < 0;) --q;
        for (; x[i] - q * 7 >= 7;) ++q;
        y[i] = q + (x[i] - q * 7);
    }
}

// takes x; computes sum(((x >> i) & 1) << (15 - i) for i in range(16)); from torch.randint(0, 65536, (1300,))
extern "C" void swapped_in_halves(const int64_t* x, int64_t* y) {
    for (int i = 0; i < 1300; ++i) {
        uint32_t v = x[i] & 0xffff;
        v = (v >> 1 & 0x5555) | (v & 0x5555) << 1;
        v = (v >> 2 & 0x3333) | (v & 0x3333) << 2;
        v = (v >> 4 & 0x0f0f) | (v & 0x0f0f) << 4;
        y[i] = (v >> 8 | v << 8) & 0xffff;
    }
}

// takes x, y; computes sum((((x >> i) & 1) << (2 * i)) | (((y >> i) & 1) << (2 * i + 1)) for i in range(12));
//    from torch.randint(4096, (800,)), torch.randint(4096, (800,))
extern "C" void morton(const int64_t* a, const int64_t* b, int64_t* y) {
    const auto spread = [](uint64_t v) {
        v = (v | v << 8) & 0x00ff00ff;
        v = (v | v << 4) & 0x0f0f0f0f;
        v = (v | v << 2) & 0x33333333;
        return (v | v << 1) & 0x55555555;
    };
    for (int i = 0; i < 800; ++i) y[i] = spread(a[i] & 4095) | spread(b[i] & 4095) << 1;
}

// takes x; computes (x * torch.tensor([1, 2, 4, 8, 16, 32, 64, 128])).sum(-1); from (torch.rand(500, 8) > 0.5).long()
extern "C" void shifted_in(const int64_t* x, int64_t* y) {
    for (int r = 0; r < 500; ++r) {
        int64_t v = 0;
        for (int i = 7; i >= 0; --i) v = 2 * v + x[r * 8 + i];
        y[r] = v;
    }
}

// takes w, s; computes torch.stack([(w & 15) - 8, (w >> 4) - 8], -1).flatten(1).float() * s;
//    from torch.randint(0, 256, (24, 32)).to(torch.uint8).int(), torch.rand(24, 1) + 0.1
extern "C" void two_nibbles(const int32_t* w, const float* s, float* y) {
    for (int r = 0; r < 24; ++r)
        for (int i = 0; i < 32; ++i) {
            const int32_t v = w[r * 32 + i];
            y[r * 64 + 2 * i] = float((v & 15) - 8) * s[r];
            y[r * 64 + 2 * i + 1] = float((v >> 4) - 8) * s[r];
        }
}

// takes x; computes torch.where(((torch.arange(2000) * 40503 >> 7) & 3) == 0, 0.0, x / 0.75); from torch.randn(2000)
extern "C" void a_mask_from_places(const float* x, float* y) {
    for (unsigned i = 0; i < 2000; ++i) y[i] = x[i] / 0.75f * float((i * 40503u >> 7 & 3) != 0);
}

// takes x; computes torch.clamp(x, -1, 1); from torch.randn(700)
extern "C" void the_middle_of_three(const float* x, float* y) {
    for (int i = 0; i < 700; ++i) y[i] = x[i] != x[i] ? x[i] : std::max(std::min(1.f, x[i]), std::min(-1.f, std::max(1.f,
        x[i])));
}
