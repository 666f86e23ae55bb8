// Running sums and recurrences: in sweeps, in chunks, by looking back, by states of blocks; dynamic programmes.
#include <atomic>
#include <thread>

// takes x; computes torch.cumsum(x, 1); from torch.randn(12, 256)
extern "C" void blelloch(const float* x, float* y) {
    for (int r = 0; r < 12; ++r) {
        float v[256];
        std::memcpy(v, x + r * 256, 1024);
        for (int d = 1; d < 256; d *= 2)
            for (int i = 2 * d - 1; i < 256; i += 2 * d) v[i] += v[i - d];
        v[255] = 0;
        for (int d = 128; d; d /= 2)
            for (int i = 2 * d - 1; i < 256; i += 2 * d) {
                const float t = v[i - d];
                v[i - d] = v[i];
                v[i] += t;
            }
        for (int i = 0; i < 256; ++i) y[r * 256 + i] = v[i] + x[r * 256 + i];
    }
}
extern "C" void hillis_and_steele(const float* x, float* y) {
    std::memcpy(y, x, 12 * 1024);
    for (int r = 0; r < 12; ++r)
        for (int d = 1; d < 256; d *= 2)
            for (int i = 255; i >= d; --i) y[r * 256 + i] += y[r * 256 + i - d];
}
extern "C" void three_phases(const float* x, float* y) {
    for (int r = 0; r < 12; ++r) {
        float carry[9] = {};
#pragma omp parallel for
        for (int b = 0; b < 8; ++b) carry[b + 1] = std::accumulate(x + r * 256 + b * 32, x + r * 256 + b * 32 + 32, 0.f);
        std::partial_sum(carry, carry + 9, carry);
#pragma omp parallel for
        for (int b = 0; b < 8; ++b) {
            float s = carry[b];
            for (int i = r * 256 + b * 32; i < r * 256 + b * 32 + 32; ++i) y[i] = s += x[i];
        }
    }
}
extern "C" void looking_back(const float* x, float* y) {
    struct Tile {
        std::atomic<int> state{0};
        float total, prefix;
    };
    std::vector<Tile> tiles(12 * 8);
    std::atomic<int> ticket{0};
    const auto work = [&] {
        for (int t; (t = ticket++) < 96;) {
            float s = 0;
            for (int i = t * 32; i < t * 32 + 32; ++i) y[i] = s += x[i];
            tiles[t].total = s;
            tiles[t].state.store(1, std::memory_order_release);
            float before = 0;
            for (int b = t - 1; b >= t / 8 * 8; --b) {
                int state;
                while (!(state = tiles[b].state.load(std::memory_order_acquire))) std::this_thread::yield();
                before += state == 2 ? tiles[b].prefix : tiles[b].total;
                if (state == 2) break;
            }
            tiles[t].prefix = before + s;
            tiles[t].state.store(2, std::memory_order_release);
            for (int i = t * 32; i < t * 32 + 32; ++i) y[i] += before;
        }
    };
    std::thread other(work);
    work();
    other.join();
}

// takes x; computes x.flip(1).cumsum(1).flip(1); from torch.randn(15, 99)
extern "C" void from_the_end(const float* x, float* y) {
    for (int r = 0; r < 15; ++r) {
        double s = 0;
        for (int i = 98; i >= 0; --i) y[r * 99 + i] = s += x[r * 99 + i];
    }
}
extern "C" void total_less_what_was(const float* x, float* y) {
    for (int r = 0; r < 15; ++r) {
        double s = std::accumulate(x + r * 99, x + r * 99 + 99, 0.0);
        for (int i = 0; i < 99; ++i) {
            y[r * 99 + i] = s;
            s -= x[r * 99 + i];
        }
    }
}

// takes x; computes torch.logcumsumexp(x, 1); from torch.randn(16, 120)
extern "C" void a_running_shift(const float* x, float* y) {
    for (int r = 0; r < 16; ++r) {
        double most = -INFINITY, s = 0;
        for (int i = r * 120; i < r * 120 + 120; ++i) {
            if (x[i] > most) s = s * std::exp(most - x[i]) + 1, most = x[i];
            else s += std::exp(x[i] - most);
            y[i] = most + std::log(s);
        }
    }
}

// takes x; computes torch.cumprod(x, 1); from torch.rand(20, 16) + 0.5
extern "C" void products_by_doubling(const float* x, float* y) {
    std::memcpy(y, x, 320 * 4);
    for (int d = 1; d < 16; d *= 2)
        for (int i = 319; i >= 0; --i)
            if (i % 16 >= d) y[i] *= y[i - d];
}

// takes a, x; computes h = torch.zeros(8); then o = []; then o.extend(h := torch.sigmoid(a[t]) * h + x[t] for t in
//    range(48)); then torch.stack(o); from torch.randn(48, 8), torch.randn(48, 8)
extern "C" void gates_and_states_of_blocks(const float* a, const float* x, float* y) {
    for (int c = 0; c < 8; ++c) {
        double gate[48], part[48], carry = 0;
        for (int b = 0; b < 48; b += 12)
            for (int t = b; t < b + 12; ++t) {
                const double g = 1 / (1 + std::exp(-double(a[t * 8 + c])));
                gate[t] = t == b ? g : g * gate[t - 1];
                part[t] = x[t * 8 + c] + (t == b ? 0 : g * part[t - 1]);
            }
        for (int b = 0; b < 48; b += 12) {
            for (int t = b; t < b + 12; ++t) y[t * 8 + c] = part[t] + gate[t] * carry;
            carry = part[b + 11] + gate[b + 11] * carry;
        }
    }
}
extern "C" void maps_composed(const float* a, const float* x, float* y) {
    double g[384], s[384];
    for (int i = 0; i < 384; ++i) g[i] = 1 / (1 + std::exp(-double(a[i]))), s[i] = x[i];
    for (int d = 1; d < 48; d *= 2)
        for (int i = 383; i >= 8 * d; --i) {
            s[i] += g[i] * s[i - 8 * d];
            g[i] *= g[i - 8 * d];
        }
    std::copy(s, s + 384, y);
}

// takes x; computes h = torch.zeros(6, 10); then [h := torch.tanh(x[:, t] + h @ self.w) for t in range(12)][-1];
//    from torch.randn(6, 12, 10); with self.w = nn.Parameter(torch.randn(10, 10) / 4)
extern "C" void two_states_in_turns(const float* x, const float* w, float* y) {
    for (int b = 0; b < 6; ++b) {
        double h[2][10] = {};
        for (int t = 0; t < 12; ++t)
            for (int j = 0; j < 10; ++j) {
                double s = x[(b * 12 + t) * 10 + j];
                for (int i = 0; i < 10; ++i) s += h[t & 1][i] * w[i * 10 + j];
                h[~t & 1][j] = std::tanh(s);
            }
        std::copy(h[0], h[0] + 10, y + b * 10);
    }
}

// takes x, h, c; computes g = (x @ self.w + h @ self.u).chunk(4, -1);
//    then n = torch.sigmoid(g[1]) * c + torch.sigmoid(g[0]) * torch.tanh(g[2]);
//    then torch.sigmoid(g[3]) * torch.tanh(n), n; from torch.randn(9, 12), torch.randn(9, 7), torch.randn(9, 7)
//    ; with self.w = nn.Parameter(torch.randn(12, 28) / 3); then self.u = nn.Parameter(torch.randn(7, 28) / 3)
extern "C" void a_cell_of_four_gates(const float* x, const float* h, const float* c, const float* w, const float* u,
    float* y, float* z) {
    for (int b = 0; b < 9; ++b)
        for (int j = 0; j < 7; ++j) {
            double g[4] = {};
            for (int k = 0; k < 4; ++k) {
                for (int i = 0; i < 12; ++i) g[k] += double(x[b * 12 + i]) * w[i * 28 + k * 7 + j];
                for (int i = 0; i < 7; ++i) g[k] += double(h[b * 7 + i]) * u[i * 28 + k * 7 + j];
                g[k] = k == 2 ? std::tanh(g[k]) : 0.5 + 0.5 * std::tanh(g[k] / 2);
            }
            const double n = g[1] * c[b * 7 + j] + g[0] * g[2];
            z[b * 7 + j] = n;
            y[b * 7 + j] = g[3] * std::tanh(n);
        }
}

// takes d; computes e = d.clone(); then [e := torch.minimum(e, e[:, k, None] + e[None, k]) for k in range(20)][-1];
//    from torch.rand(20, 20)
extern "C" void floyd_and_warshall(const float* d, float* y) {
    std::copy(d, d + 400, y);
    for (int k = 0; k < 20; ++k) {
        float row[20];
        std::memcpy(row, y + 20 * k, 80);
        for (int i = 0; i < 20; ++i) {
            const float to = y[i * 20 + k];
            for (int j = 0; j < 20; ++j) y[i * 20 + j] = std::min(y[i * 20 + j], to + row[j]);
        }
    }
}

// takes e; computes v = e[:, 0]; then [v := (v[:, :, None] + self.t).amax(1) + e[:, k] for k in range(1, 15)][-1];
//    from torch.randn(8, 15, 6); with self.t = nn.Parameter(torch.randn(6, 6))
extern "C" void viterbi(const float* e, const float* t, float* y) {
    for (int b = 0; b < 8; ++b) {
        float v[6], n[6];
        std::memcpy(v, e + b * 90, 24);
        for (int k = 1; k < 15; ++k, std::memcpy(v, n, 24))
            for (int j = 0; j < 6; ++j) {
                float most = -INFINITY;
                for (int i = 0; i < 6; ++i) most = std::max(most, v[i] + t[i * 6 + j]);
                n[j] = most + e[b * 90 + k * 6 + j];
            }
        std::memcpy(y + b * 6, v, 24);
    }
}

// takes u; computes [u := u + 0.1 * (torch.roll(u, 1, 1) + torch.roll(u, -1, 1) - 2 * u) for _ in range(6)][-1];
//    from torch.randn(5, 64)
extern "C" void all_steps_of_a_tile(const float* u, float* y) {
    for (int r = 0; r < 5; ++r)
        for (int b = 0; b < 64; b += 16) {  // A halo of one element a step.
            float v[28], w[28];
            for (int i = 0; i < 28; ++i) v[i] = u[r * 64 + ((b + i - 6) & 63)];
            for (int s = 1; s <= 6; ++s) {
                for (int i = s; i < 28 - s; ++i) w[i] = v[i] + 0.1f * (v[i - 1] + v[i + 1] - 2 * v[i]);
                std::memcpy(v, w, sizeof v);
            }
            std::memcpy(y + r * 64 + b, v + 6, 64);
        }
}

// takes g; computes n = sum(torch.roll(g, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1)) - g;
//    then ((n == 3) | ((g == 1) & (n == 2))).long(); from (torch.rand(24, 64) > 0.6).long()
extern "C" void words_of_cells(const int64_t* g, int64_t* y) {
    uint64_t rows[24] = {}, bits[4];
    for (int i = 0; i < 24 * 64; ++i) {
        if (g[i] & ~1l) goto slowly;
        rows[i / 64] |= uint64_t(g[i]) << (i & 63);
    }
    for (int r = 0; r < 24; ++r) {  // Bit-sliced counters of all neighbours of a row at once.
        std::fill(bits, bits + 4, 0);
        for (int d = -1; d <= 1; ++d)
            for (int s = -1; s <= 1; ++s) {
                const uint64_t v = rows[(r + d + 24) % 24];
                uint64_t carry = s == 0 ? v : s < 0 ? v << 1 | v >> 63 : v >> 1 | v << 63;
                if (d == 0 && s == 0) continue;
                for (uint64_t& bit : bits) {
                    const uint64_t both = bit & carry;
                    bit ^= carry;
                    carry = both;
                }
            }
        const uint64_t alive = bits[1] & ~bits[2] & ~bits[3] & (bits[0] | rows[r]);
        for (int i = 0; i < 64; ++i) y[r * 64 + i] = alive >> i & 1;
    }
    return;
slowly:
    for (int i = 0; i < 24 * 64; ++i) {
        int64_t n = -g[i];
        for (int k = 0; k < 9; ++k) n += g[(i / 64 + k / 3 + 23) % 24 * 64 + (i + k % 3 + 63) % 64];
        y[i] = n == 3 || (g[i] == 1 && n == 2);
    }
}

// takes p; computes [p := p[p] for _ in range(7)][-1];
//    from torch.where(torch.rand(500) < 0.2, torch.arange(500), (torch.rand(500) * torch.arange(500)).long())
extern "C" void a_jump_of_many_steps(const int64_t* p, int64_t* y) {
    for (int i = 0; i < 500; ++i) {  // p after 2^7 steps, found in a walk that ends at roots.
        int64_t at = i;
        for (int k = 0; k < 128 && p[at] != at; ++k) at = p[at];
        y[i] = at;
    }
}

// takes x; computes torch.diff(x, n=2, dim=1); from torch.randn(20, 60)
extern "C" void three_terms(const float* x, float* y) {
    for (int r = 0; r < 20; ++r)
        for (int i = 57; i >= 0; --i) {
            const float* v = x + r * 60 + i;
            y[r * 58 + i] = (v[2] - v[1]) - (v[1] - v[0]);
        }
}
