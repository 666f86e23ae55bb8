"""Vectorisable single-precision functions, as C++ text.

Each is branch-free, so that a loop of them becomes vector code. Coefficients are weighted least-squares
fits with iterated reweighting, near minimax; the bounds in the comments are theirs, before rounding.
"""

from kernelwright.propose.author.source.cpp_function import Function
from kernelwright.propose.author.source.cpp_sort import SORTING

MAX = Function(
    "max",
    """\
// By value: g++ 12 makes no vector code of std::max where an operand is a constant or stands in memory.
template <typename A, typename B>
inline auto max(A a, B b) {
  return a < b ? b : a;
}
""",
)

MIN = Function(
    "min",
    """\
template <typename A, typename B>
inline auto min(A a, B b) {
  return b < a ? b : a;
}
""",
)

MAXIMUM = Function(
    "maximum",
    """\
// The larger one, or a NaN if either is one.
template <typename A, typename B>
inline auto maximum(A a, B b) {
  return a < b || b != b ? b : a;
}
""",
)

MINIMUM = Function(
    "minimum",
    """\
template <typename A, typename B>
inline auto minimum(A a, B b) {
  return b < a || b != b ? b : a;
}
""",
)

AMAX = Function(
    "amax",
    """\
#pragma omp declare reduction(amax : float, double : omp_out = maximum(omp_out, omp_in)) initializer(omp_priv = -INFINITY)
""",
    needs=("maximum",),
    headers=("cmath",),
)

AMIN = Function(
    "amin",
    """\
#pragma omp declare reduction(amin : float, double : omp_out = minimum(omp_out, omp_in)) initializer(omp_priv = INFINITY)
""",
    needs=("minimum",),
    headers=("cmath",),
)

SINE = Function(
    "sin",
    """\
#if defined(__x86_64__) && defined(__GLIBC__)
// The C library has vectors of it, which g++ calls only where it is told of them.
extern "C" __attribute__((__simd__("notinbranch"))) float sinf(float) noexcept;
#endif
inline float sin(float x) { return sinf(x); }
""",
    headers=("cmath",),
)

COSINE = Function(
    "cos",
    """\
#if defined(__x86_64__) && defined(__GLIBC__)
extern "C" __attribute__((__simd__("notinbranch"))) float cosf(float) noexcept;
#endif
inline float cos(float x) { return cosf(x); }
""",
    headers=("cmath",),
)

WHERE = Function(
    "where",
    """\
// Both operands are read, so that a vector needs no mask to load them.
template <typename A, typename B>
inline auto where(bool condition, A yes, B no) {
  return condition ? yes : no;
}
""",
)

BITS = Function(
    "bits",
    """\
inline float from_bits(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

inline std::uint32_t to_bits(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}
""",
    headers=("cstring",),
)

REDUCED = Function(
    "reduced",
    """\
// exp(x) = 2^n * (1 + rest) within 8e-9; n stands in the lowest bits of `shifted`.
struct Reduced {
  float shifted;
  float rest;
};

inline Reduced reduce(float x) {
  constexpr float ROUNDER = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  const float shifted = x * 1.44269504f + ROUNDER;
  const float n = shifted - ROUNDER;
  const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.39412098e-3f;
  p = p * r + 8.36323481e-3f;
  p = p * r + 4.16663736e-2f;
  p = p * r + 1.66665763e-1f;
  p = p * r + 0.5f;
  return {shifted, p * r * r + r};
}

// value * 2^n by adding n to the exponent.
inline float scaled(float value, float shifted) {
  return from_bits(to_bits(value) + (to_bits(shifted) << 23));
}
""",
    needs=("bits",),
)

EXP = Function(
    "exp",
    """\
inline float exp(float x) {
  const Reduced reduced = reduce(x);
  const float value = scaled(reduced.rest + 1.0f, reduced.shifted);
  const float bounded = x < -87.3f ? 0.0f : value;
  return x > 88.72283f ? INFINITY : bounded;
}
""",
    needs=("reduced",),
    headers=("cmath",),
)

EXP_LIBM = Function("exp", "inline float exp(float x) { return std::exp(x); }\n", headers=("cmath",))

EXPM1 = Function(
    "expm1",
    """\
inline float expm1(float x) {
  const Reduced reduced = reduce(x);
  const float half = scaled(0.5f, reduced.shifted);  // 2^(n - 1), finite for every finite result
  const float value = 2.0f * (reduced.rest * half + (half - 0.5f));
  const float bounded = x < -25.0f ? -1.0f : value;
  return x > 88.72283f ? INFINITY : bounded;
}
""",
    needs=("reduced",),
    headers=("cmath",),
)

LOG = Function(
    "log",
    """\
// x = 2^n * (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2); log(1 + f) within 6e-9.
inline float log(float x) {
  const bool tiny = x < 1.17549435e-38f;
  const float normal = tiny ? x * 8388608.0f : x;
  const std::int32_t bits = static_cast<std::int32_t>(to_bits(normal));
  const std::int32_t n = (bits - 0x3f3504f3) >> 23;
  const float f = from_bits(to_bits(normal) - (static_cast<std::uint32_t>(n) << 23)) - 1.0f;
  float p = -7.86610171e-2f;
  p = p * f + 1.28908366e-1f;
  p = p * f + -1.31305173e-1f;
  p = p * f + 1.41800225e-1f;
  p = p * f + -1.66242748e-1f;
  p = p * f + 2.00023293e-1f;
  p = p * f + -2.50008196e-1f;
  p = p * f + 3.33333164e-1f;
  const float exponent = static_cast<float>(tiny ? n - 23 : n);
  const float square = f * f;
  const float tail = (p * f - 0.5f) * square + exponent * -2.12194440e-4f;
  const float value = tail + f + exponent * 0.693359375f;
  const float finite = x > 3.40282347e38f ? x : value;
  return x > 0.0f ? finite : (x == 0.0f ? -INFINITY : NAN);
}
""",
    needs=("bits",),
    headers=("cmath",),
)

LOG1P = Function(
    "log1p",
    """\
// log(1 + x) with the digits that 1 + x loses put back.
inline float log1p(float x) {
  const float sum = 1.0f + x;
  const float lost = sum > 1e8f ? 0.0f : x - (sum - 1.0f);
  return log(sum) + lost / std::max(sum, 1e-30f);
}
""",
    needs=("log",),
    headers=("algorithm",),
)

TANH = Function(
    "tanh",
    """\
inline float tanh(float x) {
  const Reduced reduced = reduce(std::min(std::max(2.0f * x, -20.0f), 20.0f));
  const float half = scaled(0.5f, reduced.shifted);
  const float gain = reduced.rest * half + (half - 0.5f);  // (exp(2 x) - 1) / 2
  return gain / (gain + 1.0f);
}
""",
    needs=("reduced",),
    headers=("algorithm",),
)

SIGMOID_TEXT = "inline float sigmoid(float x) { return 1.0f / (1.0f + exp(-x)); }\n"
SIGMOID = Function("sigmoid", SIGMOID_TEXT, needs=("exp",))

SOFTPLUS = Function(
    "softplus",
    """\
// log(1 + exp(x)). The exponential is at most 1, where a polynomial gives log(1 + e) within a relative 4e-8.
inline float softplus(float x) {
  const float e = exp(-std::abs(x));
  float p = 5.36542246e-3f;
  p = p * e + -3.00683007e-2f;
  p = p * e + 7.92088285e-2f;
  p = p * e + -1.37541875e-1f;
  p = p * e + 1.91538483e-1f;
  p = p * e + -2.48572171e-1f;
  p = p * e + 3.33213300e-1f;
  p = p * e + -4.99996483e-1f;
  return max(x, 0.0f) + (p * e * e + e);
}
""",
    needs=("exp", "max"),
    headers=("cmath",),
)

TAIL = Function(
    "tail",
    """\
// P(Z > t) of a standard normal Z for t >= 0: exp(-t^2 / 2) times a polynomial in 1 / (1 + 0.35 t),
// within a relative 2e-7 as it is computed.
inline float normal_tail(float t) {
  const float u = 1.0f / (1.0f + 0.35f * t);
  float p = -2.84448434e-2f;
  p = p * u + 1.40459210e-1f;
  p = p * u + -2.48216137e-1f;
  p = p * u + 1.50288045e-1f;
  p = p * u + -1.67318452e-2f;
  p = p * u + 1.02676667e-1f;
  p = p * u + 1.20589972e-1f;
  p = p * u + 1.39750659e-1f;
  p = p * u + 1.39628261e-1f;
  return exp(-0.5f * t * t) * (p * u);
}
""",
    needs=("exp",),
)

NORMAL_CDF = Function(
    "normal_cdf",
    """\
inline float normal_cdf(float x) {
  const float tail = normal_tail(std::abs(x));
  return x < 0.0f ? tail : 1.0f - tail;
}
""",
    needs=("tail",),
    headers=("cmath",),
)

ERF = Function(
    "erf",
    """\
inline float erf(float x) {
  const float square = x * x;
  float p = 7.88911493e-5f;
  p = p * square + -8.02083989e-4f;
  p = p * square + 5.18953521e-3f;
  p = p * square + -2.68544443e-2f;
  p = p * square + 1.12836003e-1f;
  p = p * square + -3.76126260e-1f;
  p = p * square + 1.12837911f;
  const float outer = 1.0f - 2.0f * normal_tail(1.41421356f * std::abs(x));
  return std::abs(x) < 1.0f ? p * x : std::copysign(outer, x);
}
""",
    needs=("tail",),
    headers=("cmath",),
)

BFLOAT16 = Function(
    "bfloat16",
    """\
inline float from_bfloat16(std::uint16_t half) {
  return from_bits(static_cast<std::uint32_t>(half) << 16);
}

inline std::uint16_t to_bfloat16(float value) {  // rounds to nearest, ties to even
  const std::uint32_t bits = to_bits(value);
  const std::uint32_t rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
  return static_cast<std::uint16_t>((value == value ? rounded : 0x7fc00000u) >> 16);
}
""",
    needs=("bits",),
)

FLOAT16 = Function(
    "float16",
    """\
inline float from_float16(std::uint16_t half) {
  const std::uint32_t magnitude = half & 0x7fffu;
  const std::uint32_t number = to_bits(from_bits(magnitude << 13) * 0x1p112f);  // rebases the exponent
  const std::uint32_t infinite = magnitude > 0x7bffu ? 0x7f800000u : 0u;
  return from_bits(number | infinite | (static_cast<std::uint32_t>(half & 0x8000u) << 16));
}

inline std::uint16_t to_float16(float value) {  // rounds to nearest, ties to even
  const std::uint32_t bits = to_bits(value);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  const std::uint32_t number = (magnitude - (112u << 23) + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  const std::uint32_t tiny = to_bits(from_bits(magnitude) + 0.5f) - 0x3f000000u;  // the addition rounds at 2^-24
  const std::uint32_t finite = magnitude < 0x38800000u ? tiny : number;
  const std::uint32_t bounded = magnitude < 0x477ff000u ? finite : 0x7c00u;
  return static_cast<std::uint16_t>((magnitude > 0x7f800000u ? 0x7e00u : bounded) | ((bits >> 16) & 0x8000u));
}
""",
    needs=("bits",),
)

MULTIPLY = Function(
    "multiply",
    """\
#if defined(__AVX512F__)
constexpr std::int64_t LANES_EACH = 16, HIGH = 12;  // floats of a vector; rows that the registers hold
#else
constexpr std::int64_t LANES_EACH = 8, HIGH = 6;
#endif
constexpr std::int64_t WIDE = 2 * LANES_EACH;
typedef float Lanes __attribute__((vector_size(4 * LANES_EACH), may_alias));

// total[HIGH, WIDE] += left[depth, HIGH] by right[depth, WIDE]: summed from zero in registers, since one long sum loses more.
inline void multiply(const float* left, const float* right, std::int64_t depth, float* total, std::int64_t stride) {
  Lanes sums[HIGH][2] = {};
  for (std::int64_t step = 0; step < depth; ++step) {
    const Lanes first = *reinterpret_cast<const Lanes*>(right + step * WIDE);
    const Lanes second = *reinterpret_cast<const Lanes*>(right + step * WIDE + LANES_EACH);
#pragma GCC unroll 12
    for (std::int64_t row = 0; row < HIGH; ++row) {
      sums[row][0] += left[step * HIGH + row] * first;
      sums[row][1] += left[step * HIGH + row] * second;
    }
  }
#pragma GCC unroll 12
  for (std::int64_t row = 0; row < HIGH; ++row) {
    *reinterpret_cast<Lanes*>(total + row * stride) += sums[row][0];
    *reinterpret_cast<Lanes*>(total + row * stride + LANES_EACH) += sums[row][1];
  }
}
""",
)

AT = Function(
    "at",
    """\
// row[index], or NaN for an index outside the row: nothing outside is ever read.
template <typename T>
inline T at(const T* row, std::int64_t index) {
  return index >= 0 && index < COLS ? row[index] : static_cast<T>(NAN);
}
""",
    headers=("cmath",),
)

STREAM = Function(
    "stream",
    """\
// Copies a tile past the caches. Streaming stores need an aligned target; the ends go as usual.
template <typename T>
inline void stream(T* target, const T* tile, std::int64_t count) {
  std::int64_t i = 0;
#if defined(__SSE2__)
  constexpr std::int64_t STEP = sizeof(Line) / sizeof(T);
  while (i < count && reinterpret_cast<std::uintptr_t>(target + i) % sizeof(Line) != 0) {
    target[i] = tile[i];
    ++i;
  }
  for (; i + STEP <= count; i += STEP) {
    stream_line(reinterpret_cast<Line*>(target + i), reinterpret_cast<const Line*>(tile + i));
  }
#endif
  for (; i < count; ++i) target[i] = tile[i];
}
""",
    needs=("line",),
)

LINE = Function(
    "line",
    """\
#if defined(__AVX512F__)
using Line = __m512i;
inline void stream_line(Line* to, const Line* from) {
  _mm512_stream_si512(to, _mm512_loadu_si512(from));
}
#elif defined(__SSE2__)
using Line = __m128i;
inline void stream_line(Line* to, const Line* from) { _mm_stream_si128(to, _mm_loadu_si128(from)); }
#endif
""",
)

EVERY = (
    MAX, MIN, MAXIMUM, MINIMUM, AMAX, AMIN, SINE, COSINE, WHERE, BITS, REDUCED, EXP, EXPM1, LOG, LOG1P, TANH, SIGMOID,
    SOFTPLUS, TAIL, NORMAL_CDF, ERF, BFLOAT16, FLOAT16, MULTIPLY, AT, LINE, STREAM, *SORTING,
)  # fmt: skip
FUNCTIONS = {function.name: function for function in EVERY}


def selected(names: set[str], libm: bool) -> list[Function]:
    """The named helpers with all that they need, in an order in which each is declared before its use.

    `libm` takes the exponential from the C library instead.
    """
    table = FUNCTIONS | ({"exp": EXP_LIBM} if libm else {})
    wanted: dict[str, Function] = {}

    def want(name: str) -> None:
        for need in table[name].needs:
            want(need)
        wanted.setdefault(name, table[name])

    for name in table:
        if name in names:
            want(name)
    return list(wanted.values())
