/* kernelwright
[sizes]
rows = 150
cols = 170
turns = 2
[arguments]
image = { shape = ["rows", "cols"], values = "positive", inout = true }
work = { shape = ["rows", "cols"] }
lambda_ = { value = 0.5 }
*/
#include <algorithm>
struct Moments {
  double sum = 0, squares = 0;
  void add(double v) { sum += v; squares += v * v; }
  double spread(int many) const { const double mean = sum / many; return (squares / many - mean * mean) / (mean * mean); }
};
void speckle(float *image, float *work, int rows, int cols, int turns, float lambda_) {
  const auto clamp = [](int v, int top) { return std::min(std::max(v, 0), top - 1); };
  const auto at = [&](int i, int j) { return image[clamp(i, rows) * cols + clamp(j, cols)]; };
  for (int t = 0; t < turns; ++t) {
    Moments all;
    for (int i = 0; i < rows * cols; ++i) all.add(image[i]);
    const float q0 = static_cast<float>(all.spread(rows * cols));
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < cols; ++j) {
        const float c = at(i, j), l = at(i - 1, j) + at(i + 1, j) + at(i, j - 1) + at(i, j + 1) - 4 * c;
        const float q = l / c, k = 1.0f / (1.0f + (q * q - q0) / (1.0f + q0));
        work[i * cols + j] = std::clamp(k, 0.0f, 1.0f) * l;
      }
    for (int i = 0; i < rows * cols; ++i) image[i] += 0.25f * lambda_ * work[i];
  }
}
