/* kernelwright
function = "all_pairs"
[sizes]
size = 180
[arguments]
d = { shape = ["size", "size"], values = "positive", inout = true }
*/
#include <algorithm>
#include <limits>

template <typename T>
class Grid {
 public:
  Grid(T* data, int size) : data_(data), size_(size) {}
  T& operator()(int r, int c) { return data_[r * size_ + c]; }

 private:
  T* data_;
  int size_;
};

void all_pairs(float* d, int size) {
  Grid<float> g(d, size);
  for (int k = 0; k < size; ++k) {
    for (int i = 0; i < size; ++i) {
      if (g(i, k) == std::numeric_limits<float>::infinity()) continue;
      for (int j = 0; j < size; ++j) g(i, j) = std::min(g(i, j), g(i, k) + g(k, j));
    }
  }
}
