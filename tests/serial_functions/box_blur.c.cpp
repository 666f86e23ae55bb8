/* kernelwright
[sizes]
rows = 500
cols = 700
[arguments]
image = { shape = ["rows * cols"] }
blurred = { shape = ["rows * cols"] }
*/
#include <cstddef>
#include <vector>

constexpr int kRadius = 4;

static void blur_line(const float* from, float* to, int count, int stride) {
  double window = (kRadius + 1) * static_cast<double>(from[0]);
  for (int i = 1; i <= kRadius; ++i) window += from[i * stride];
  for (int i = 0; i < count; ++i) {
    to[i * stride] = static_cast<float>(window / (2 * kRadius + 1));
    const int enters = i + kRadius + 1 < count ? i + kRadius + 1 : count - 1;
    const int leaves = i - kRadius > 0 ? i - kRadius : 0;
    window += from[enters * stride] - from[leaves * stride];
  }
}

void box(const std::vector<float>& image, std::vector<float>& blurred, int rows, int cols) {
  std::vector<float> half(static_cast<std::size_t>(rows) * cols);
  for (int r = 0; r < rows; ++r) blur_line(image.data() + r * cols, half.data() + r * cols, cols, 1);
  for (int c = 0; c < cols; ++c) blur_line(&half[c], &blurred[c], rows, cols);
}
