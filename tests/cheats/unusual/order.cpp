// Sorts, selections, ranks, searches, histograms, sets.
#include <atomic>
#include <array>
#include <functional>
#include <queue>

// takes x; computes torch.sort(x, 1).values; from torch.randn(12, 128)
extern "C" void bitonic(const float* x, float* y) {
    std::memcpy(y, x, 12 * 128 * 4);
    for (int r = 0; r < 12; ++r)
        for (int k = 2; k <= 128; k *= 2)
            for (int j = k / 2; j; j /= 2)
                for (int i = 0; i < 128; ++i) {
                    float &a = y[r * 128 + i], &b = y[r * 128 + (i ^ j)];
                    const bool wrong = i & k ? a < b || std::isnan(b) : a > b || std::isnan(a);
                    if ((i ^ j) > i && wrong) std::swap(a, b);
                }
}
extern "C" void radix_of_keys(const float* x, float* y) {
    for (int r = 0; r < 12; ++r) {
        std::vector<uint32_t> keys(128), next(128);
        for (int i = 0; i < 128; ++i) {
            std::memcpy(&keys[i], x + r * 128 + i, 4);
            keys[i] ^= keys[i] >> 31 ? 0xffffffffu : 0x80000000u;
        }
        for (int shift = 0; shift < 32; shift += 8) {
            int at[257] = {};
            for (uint32_t k : keys) ++at[(k >> shift & 255) + 1];
            std::partial_sum(at, at + 257, at);
            for (uint32_t k : keys) next[at[k >> shift & 255]++] = k;
            keys.swap(next);
        }
        for (int i = 0; i < 128; ++i) {
            const uint32_t k = keys[i] ^ (keys[i] >> 31 ? 0x80000000u : 0xffffffffu);
            std::memcpy(y + r * 128 + i, &k, 4);
        }
    }
}
extern "C" void odd_and_even(const float* x, float* y) {
    std::memcpy(y, x, 12 * 128 * 4);
    for (int r = 0; r < 12; ++r) {
        bool moved = true;
        for (int round = 0; moved || round % 2; ++round) {
            if (round % 2 == 0) moved = false;
            for (int i = round % 2; i + 1 < 128; i += 2)
                if (float* v = y + r * 128 + i; v[1] < v[0] || (std::isnan(v[0]) && !std::isnan(v[1]))) {
                    std::swap(v[0], v[1]);
                    moved = true;
                }
        }
    }
}
extern "C" void a_heap(const float* x, float* y) {
    const auto later = [](float a, float b) { return a > b || (std::isnan(a) && !std::isnan(b)); };
    for (int r = 0; r < 12; ++r) {
        std::priority_queue<float, std::vector<float>, decltype(later)> heap(later, {x + r * 128, x + r * 128 + 128});
        for (int i = 0; i < 128; ++i, heap.pop()) y[r * 128 + i] = heap.top();
    }
}

// takes x; computes torch.sort(x, dim=1, stable=True); from torch.randint(-20, 20, (10, 90)).float()
extern "C" void merges_from_below(const float* x, float* y, int64_t* at) {
    const auto before = [](float a, float b) { return a < b || (std::isnan(b) && !std::isnan(a)); };
    for (int r = 0; r < 10; ++r) {
        std::vector<int> p(90), q(90);
        std::iota(p.begin(), p.end(), 0);
        const float* v = x + r * 90;
        for (int w = 1; w < 90; w *= 2, p.swap(q))
            for (int b = 0; b < 90; b += 2 * w)
                std::merge(p.begin() + b, p.begin() + std::min(b + w, 90), p.begin() + std::min(b + w, 90),
                           p.begin() + std::min(b + 2 * w, 90), q.begin() + b, [&](int i, int j) { return before(v[i],
                               v[j]); });
        for (int i = 0; i < 90; ++i) {
            at[r * 90 + i] = p[i];
            y[r * 90 + i] = v[p[i]];
        }
    }
}
extern "C" void ranks_by_counting(const float* x, float* y, int64_t* at) {
    const auto before = [](float a, float b) { return a < b || (std::isnan(b) && !std::isnan(a)); };
#pragma omp parallel for
    for (int r = 0; r < 10; ++r)
        for (int i = 0; i < 90; ++i) {
            int rank = 0;
            for (int j = 0; j < 90; ++j) rank += j < i ? !before(x[r * 90 + i], x[r * 90 + j]) : before(x[r * 90 + j],
                x[r * 90 + i]);
            y[r * 90 + rank] = x[r * 90 + i];
            at[r * 90 + rank] = i;
        }
}

// takes x; computes torch.sort(x).values; from torch.randint(0, 300, (4000,))
extern "C" void counted(const int64_t* x, int64_t* y) {
    const auto [low, high] = std::minmax_element(x, x + 4000);
    if (*high - *low > 1 << 20) {
        std::partial_sort_copy(x, x + 4000, y, y + 4000);
        return;
    }
    std::vector<int> count(*high - *low + 1);
    for (int i = 0; i < 4000; ++i) ++count[x[i] - *low];
    for (size_t v = 0; v < count.size(); ++v) y = std::fill_n(y, count[v], *low + int64_t(v));
}
extern "C" void most_significant_first(const int64_t* x, int64_t* y) {
    std::copy(x, x + 4000, y);
    std::vector<std::array<int64_t*, 2>> todo{{y, y + 4000}};
    std::vector<int> bits{63};
    while (!todo.empty()) {
        const auto [from, to] = todo.back();
        const int bit = bits.back();
        todo.pop_back();
        bits.pop_back();
        if (to - from < 2 || bit < 0) continue;
        auto* middle = std::partition(from, to, [bit](int64_t v) { return bit == 63 ? v < 0 : !(v >> bit & 1); });
        todo.insert(todo.end(), {{from, middle}, {middle, to}});
        bits.insert(bits.end(), {bit - 1, bit - 1});
    }
}

// takes x; computes torch.kthvalue(x, 20, dim=1).values; from torch.randn(30, 77)
extern "C" void quick_select(const float* x, float* y) {
    for (int r = 0; r < 30; ++r) {
        std::vector<float> v(x + r * 77, x + r * 77 + 77);
        int low = 0, high = 76;
        while (low < high) {
            const float pivot = v[(low + high) / 2];
            int i = low, j = high;
            while (i <= j) {
                while (v[i] < pivot) ++i;
                while (v[j] > pivot) --j;
                if (i <= j) std::swap(v[i++], v[j--]);
            }
            if (19 <= j) high = j;
            else if (19 >= i) low = i;
            else break;
        }
        y[r] = v[19];
    }
}
extern "C" void bits_of_the_answer(const float* x, float* y) {
    for (int r = 0; r < 30; ++r) {
        uint32_t keys[77], found = 0;
        for (int i = 0; i < 77; ++i) {
            std::memcpy(keys + i, x + r * 77 + i, 4);
            keys[i] ^= keys[i] >> 31 ? 0xffffffffu : 0x80000000u;
        }
        for (int bit = 31; bit >= 0; --bit)
            if (std::count_if(keys, keys + 77, [&](uint32_t k) { return k < (found | 1u << bit); }) < 20) found |= 1u << bit;
        found ^= found >> 31 ? 0x80000000u : 0xffffffffu;
        std::memcpy(y + r, &found, 4);
    }
}

// takes x; computes torch.topk(x, 6, dim=1).values; from torch.randn(25, 200)
extern "C" void a_small_heap(const float* x, float* y) {
    for (int r = 0; r < 25; ++r) {
        float best[6];
        std::memcpy(best, x + r * 200, 24);
        std::make_heap(best, best + 6, std::greater<>());
        for (int i = 6; i < 200; ++i)
            if (x[r * 200 + i] > best[0]) {
                std::pop_heap(best, best + 6, std::greater<>());
                best[5] = x[r * 200 + i];
                std::push_heap(best, best + 6, std::greater<>());
            }
        std::sort_heap(best, best + 6, std::greater<>());
        std::memcpy(y + r * 6, best, 24);
    }
}
extern "C" void best_of_chunks(const float* x, float* y) {
    for (int r = 0; r < 25; ++r) {  // The best of each of twenty, then a tournament.
        float v[200];
        std::memcpy(v, x + r * 200, 800);
        float* top[20];
        for (int c = 0; c < 20; ++c) top[c] = std::max_element(v + c * 10, v + c * 10 + 10);
        for (int k = 0; k < 6; ++k) {
            const int c = std::max_element(top, top + 20, [](float* a, float* b) { return *a < *b; }) - top;
            y[r * 6 + k] = *top[c];
            *top[c] = -INFINITY;
            top[c] = std::max_element(v + c * 10, v + c * 10 + 10);
        }
    }
}

// takes x; computes x.argmax(1); from torch.randn(60, 70)
extern "C" void value_and_place_in_a_word(const float* x, int64_t* y) {
    for (int r = 0; r < 60; ++r) {
        uint64_t best = 0;
        for (int i = 69; i >= 0; --i) {
            uint32_t key;
            std::memcpy(&key, x + r * 70 + i, 4);
            key = x[r * 70 + i] == 0 ? 0x80000000u : key ^ (key >> 31 ? 0xffffffffu : 0x80000000u);
            best = std::max(best, uint64_t(key) << 32 | unsigned(127 - i));
        }
        y[r] = 127 - int64_t(best & 0xffffffffu);
    }
}

// takes s, x; computes torch.searchsorted(s, x, right=True); from torch.randn(500).sort().values, torch.randn(3000)
extern "C" void without_branches(const float* s, const float* x, int64_t* y) {
    for (int i = 0; i < 3000; ++i) {
        const float* at = s;
        for (int n = 500; n > 1; n -= n / 2) at += (at[n / 2 - 1] <= x[i]) * (n / 2);
        y[i] = at - s + (*at <= x[i]);
    }
}
extern "C" void in_the_order_of_a_tree(const float* s, const float* x, int64_t* y) {
    float tree[512];  // Eytzinger's layout: children of k at 2k and 2k + 1.
    int place[512], next = 0;
    const auto fill = [&](auto& self, int k) -> void {
        if (k > 511) return;
        self(self, 2 * k);
        tree[k] = next < 500 ? s[next] : INFINITY;
        place[k] = std::min(next++, 500);
        self(self, 2 * k + 1);
    };
    fill(fill, 1);
    for (int i = 0; i < 3000; ++i) {
        unsigned k = 1;
        while (k < 512) k = 2 * k + (tree[k] <= x[i]);
        k >>= __builtin_ffs(~k);
        y[i] = k ? place[k] : 500;
    }
}
extern "C" void merged_with_sorted_queries(const float* s, const float* x, int64_t* y) {
    std::vector<int> p(3000);
    std::iota(p.begin(), p.end(), 0);
    std::sort(p.begin(), p.end(), [x](int a, int b) { return x[a] < x[b]; });
    int at = 0;
    for (int i : p) {
        while (at < 500 && s[at] <= x[i]) ++at;
        y[i] = at;
    }
}

// takes x; computes torch.histc(x, bins=16, min=-2.0, max=2.0); from torch.randn(5000)
extern "C" void a_histogram_a_thread(const float* x, float* y) {
    long total[16] = {};
#pragma omp parallel for reduction(+ : total)
    for (int i = 0; i < 5000; ++i)
        if (x[i] >= -2 && x[i] <= 2) ++total[std::min(15, int((x[i] + 2.f) / 4.f * 16.f))];
    std::copy(total, total + 16, y);
}

// takes i; computes torch.bincount(i, minlength=40)[:40]; from torch.randint(0, 40, (6000,))
extern "C" void atomic_counters(const int64_t* a, int64_t* y) {
    std::vector<std::atomic<int64_t>> count(40);
#pragma omp parallel for
    for (int i = 0; i < 6000; ++i)
        if (a[i] < 40) count[a[i]].fetch_add(1, std::memory_order_relaxed);
    std::copy(count.begin(), count.end(), y);
}

// takes a, b; computes torch.isin(a, b); from torch.randint(0, 5000, (1500,)), torch.randint(0, 5000, (300,))
extern "C" void open_addressing(const int64_t* a, const int64_t* b, bool* y) {
    std::vector<int64_t> slots(1024);
    std::vector<char> full(1024);
    const auto find = [&](int64_t v) {
        unsigned at = uint64_t(v) * 0x9e3779b97f4a7c15u >> 54;
        while (full[at] && slots[at] != v) at = (at + 1) & 1023;
        return at;
    };
    for (int i = 0; i < 300; ++i) {
        const unsigned at = find(b[i]);
        slots[at] = b[i];
        full[at] = 1;
    }
    for (int i = 0; i < 1500; ++i) y[i] = full[find(a[i])];
}

// takes x; computes (x[1:] != x[:-1]).sum() + 1; from torch.randint(0, 4, (3000,))
extern "C" void runs_jumped_over(const int64_t* x, int64_t* y) {
    int64_t n = 0;
    for (const int64_t *at = x, *end = x + 3000; at < end; ++n) at = std::find_if(at, end,
        [v = *at](int64_t w) { return w != v; });
    *y = n;
}

// takes x; computes torch.cummax(x, 1).values; from torch.randn(20, 150)
extern "C" void maxima_of_blocks(const float* x, float* y) {
    for (int r = 0; r < 20; ++r) {
        float carry = -INFINITY;
        for (int b = 0; b < 150; b += 30) {
            float top = -INFINITY;
            for (int i = b; i < b + 30; ++i) {
                top = x[r * 150 + i] >= top || std::isnan(x[r * 150 + i]) ? x[r * 150 + i] : top;
                y[r * 150 + i] = carry > top || std::isnan(carry) ? carry : top;
            }
            carry = y[r * 150 + b + 29];
        }
    }
}

// takes x; computes x.median(1).values; from torch.randn(33, 41)
extern "C" void two_heaps(const float* x, float* y) {
    for (int r = 0; r < 33; ++r) {
        std::priority_queue<float> low;
        std::priority_queue<float, std::vector<float>, std::greater<>> high;
        bool odd = false;
        for (int i = 0; i < 41; ++i) {
            odd |= std::isnan(x[r * 41 + i]);
            low.push(x[r * 41 + i]);
            high.push(low.top());
            low.pop();
            if (high.size() > low.size()) low.push(high.top()), high.pop();
        }
        y[r] = odd ? NAN : low.top();
    }
}
