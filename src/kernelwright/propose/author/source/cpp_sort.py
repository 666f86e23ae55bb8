"""Sorting in C++, as text: an element and its position as one number, which is sorted in its stead."""

from kernelwright.propose.author.source.cpp_function import Function

WHOLE_KEY = Function(
    "whole_key",
    """\
// A number that holds an integer and its position, and grows from the first place on.
template <typename T>
inline std::uint64_t whole_key(T value, bool descending, std::int64_t position) {
  const std::uint32_t bits = static_cast<std::uint32_t>(static_cast<std::int32_t>(value)) ^ 0x80000000u;
  const std::uint64_t high = descending ? ~bits : bits;
  return high << 32 | static_cast<std::uint64_t>(position);
}
""",
)

WHOLE_VALUE = Function(
    "whole_value",
    """\
inline std::int32_t whole_value(std::uint64_t key, bool descending) {
  const std::uint32_t bits = static_cast<std::uint32_t>(key >> 32);
  return static_cast<std::int32_t>((descending ? ~bits : bits) ^ 0x80000000u);
}
""",
)

ORDER_KEY = Function(
    "order_key",
    """\
// The same of a float, by its bits in the order of floats; a NaN is the largest, and both zeros are one.
inline std::uint64_t order_key(float value, bool descending, std::int64_t position) {
  std::int32_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  bits = value != value ? 0x7FC00000 : value == 0.0f ? 0 : bits;
  return whole_key(bits ^ ((bits >> 31) & 0x7FFFFFFF), descending, position);
}
""",
    needs=("whole_key",),
)

ORDER_VALUE = Function(
    "order_value",
    """\
inline float order_value(std::uint64_t key, bool descending) {
  std::int32_t bits = whole_value(key, descending);
  bits ^= (bits >> 31) & 0x7FFFFFFF;
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}
""",
    needs=("whole_value",),
)

SORTED = Function(
    "sorted",
    """\
// The keys by their upper halves; equal ones keep their order. The result is one of the two arrays.
inline const std::uint64_t* sorted(std::uint64_t* keys, std::uint64_t* other, std::int64_t count) {
  if (count < 512) {
    std::sort(keys, keys + count);
    return keys;
  }
  for (int shift = 32; shift < 64; shift += 11) {
    std::int64_t next[2048] = {};
    for (std::int64_t i = 0; i < count; ++i) ++next[keys[i] >> shift & 2047];
    std::int64_t sum = 0;
    for (std::int64_t& place : next) {
      const std::int64_t many = place;
      place = sum;
      sum += many;
    }
    for (std::int64_t i = 0; i < count; ++i) other[next[keys[i] >> shift & 2047]++] = keys[i];
    std::swap(keys, other);
  }
  return keys;
}
""",
    headers=("algorithm", "utility"),
)

SMALLEST = Function(
    "smallest",
    """\
// The smallest keys in order: a heap of the best so far, whose top is the worst of them.
inline const std::uint64_t* smallest(const std::uint64_t* keys, std::int64_t count, std::uint64_t* best, std::int64_t many) {
  std::copy(keys, keys + many, best);
  std::make_heap(best, best + many);
  for (std::int64_t i = many; i < count; ++i) {
    if (keys[i] < best[0]) {
      std::pop_heap(best, best + many);
      best[many - 1] = keys[i];
      std::push_heap(best, best + many);
    }
  }
  std::sort_heap(best, best + many);
  return best;
}
""",
    headers=("algorithm",),
)

SORTING = (WHOLE_KEY, WHOLE_VALUE, ORDER_KEY, ORDER_VALUE, SORTED, SMALLEST)
