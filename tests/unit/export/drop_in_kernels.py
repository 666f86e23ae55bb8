"""C++ kernels, at the tasks' small sizes, that the built-in author cannot write: other shapes, integers, two results."""

HEAD = """#include <cmath>
#include <cstdint>

"""
KERNELS = {
    "fsr/prefix_sum.py": """extern "C" void kernel(const float* x, float* y) {
    double sum = 0.0;
    for (long i = 0; i < 4096; ++i) y[i] = static_cast<float>(sum += x[i]);
}
""",
    "fsr/reverse_array.py": """extern "C" void kernel(const float* x, float* y) {
    for (long i = 0; i < 16384; ++i) y[i] = x[16383 - i];
}
""",
    "own/column_maximum.py": """extern "C" void kernel(const float* x, float* y) {
    for (long c = 0; c < 64; ++c) y[c] = x[c];
    for (long r = 1; r < 256; ++r)
        for (long c = 0; c < 64; ++c) y[c] = x[r * 64 + c] > y[c] ? x[r * 64 + c] : y[c];
}
""",
    "own/row_argmin.py": HEAD + """extern "C" void kernel(const float* x, std::int64_t* y) {
    for (long r = 0; r < 64; ++r) {
        long least = 0;
        for (long c = 1; c < 256; ++c) least = x[r * 256 + c] < x[r * 256 + least] ? c : least;
        y[r] = least;
    }
}
""",
    "own/quantise_rows.py": HEAD + """extern "C" void kernel(const float* x, std::int8_t* whole, float* scales) {
    for (long r = 0; r < 64; ++r) {
        float largest = 0.0f;
        for (long c = 0; c < 256; ++c) largest = std::fmax(largest, std::fabs(x[r * 256 + c]));
        const float scale = scales[r] = std::fmax(largest / 127.0f, 1e-12f);
        for (long c = 0; c < 256; ++c) {
            const float value = std::nearbyint(x[r * 256 + c] / scale);
            whole[r * 256 + c] = static_cast<std::int8_t>(std::fmin(std::fmax(value, -127.0f), 127.0f));
        }
    }
}
""",
}  # fmt: skip
