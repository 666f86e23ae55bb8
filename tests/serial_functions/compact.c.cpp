/* kernelwright
[sizes]
n = 400000
[arguments]
x = { shape = ["n"] }
kept = { shape = ["n"] }
index = { shape = ["n"] }
*/
#include <cstddef>
#include <vector>

/* first which and where, then all at once, as a library does it */
int filter(const std::vector<float>& x, std::vector<float>& kept, std::vector<int>& index) {
  constexpr float threshold = 0.4f;
  auto wanted = [](float v) { return v > threshold; };
  std::vector<int> offset(x.size() + 1);
  offset[0] = 0;
  for (std::size_t i = 0; i < x.size(); ++i) offset[i + 1] = offset[i] + (wanted(x[i]) ? 1 : 0);
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (offset[i + 1] != offset[i]) {
      kept[offset[i]] = x[i];
      index[offset[i]] = static_cast<int>(i);
    }
  }
  return offset[x.size()];
}
