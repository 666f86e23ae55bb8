/* kernelwright
[sizes]
rows = 500
cols = 72
[arguments]
a = { shape = ["rows", "cols"], inout = true }
r = { shape = ["cols", "cols"] }
q = { shape = ["rows", "cols"] }
*/
#include <cmath>

template <typename T>
T column_dot(const T* x, const T* y, int rows, int stride) {
  T sum{};
  for (int i = 0; i < rows; ++i) sum += x[i * stride] * y[i * stride];
  return sum;
}

template <typename F>
void each(int from, int to, F&& body) {
  for (int i = from; i < to; ++i) body(i);
}

void mgs(double* a, double* r, double* q, int rows, int cols) {
  for (int k = 0; k < cols; ++k) {
    const double norm = std::sqrt(column_dot(a + k, a + k, rows, cols));
    r[k * cols + k] = norm;
    each(0, rows, [&](int i) { q[i * cols + k] = a[i * cols + k] / norm; });
    each(k + 1, cols, [&](int j) {
      const double along = column_dot<double>(q + k, a + j, rows, cols);
      r[k * cols + j] = along;
      each(0, rows, [&](int i) { a[i * cols + j] -= along * q[i * cols + k]; });
    });
  }
}
