/* kernelwright
[sizes]
n = 120
m = 90
[arguments]
A = { shape = ["n * m"] }
p = { shape = ["m"] }
r = { shape = ["n"] }
s = { shape = ["m"] }
q = { shape = ["n"] }
*/
#include <cstddef>
template <typename T> struct Span {
  T *at;
  std::size_t many;
  T &operator[](std::size_t i) { return at[i]; }
  const T &operator[](std::size_t i) const { return at[i]; }
};
template <typename T> static T dot(const T *x, const T *y, std::size_t many) {
  T sum{};
  for (std::size_t i = 0; i < many; ++i) sum += x[i] * y[i];
  return sum;
}
void both_ways(int n, int m, const double *A, const double *p, const double *r, double *s, double *q) {
  const auto row = [=](int i) { return A + static_cast<std::size_t>(i) * m; };
  auto add = [&](const double *a, double by) {
    for (int j = 0; j < m; ++j) s[j] += by * a[j];
  };
  for (int j = 0; j < m; ++j) s[j] = 0;
  for (int i = 0; i < n; ++i) {
    add(row(i), r[i]);
    q[i] = dot<double>(row(i), p, m);
  }
}
