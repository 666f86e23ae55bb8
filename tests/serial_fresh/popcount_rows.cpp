/* kernelwright
[sizes]
rows = 300
words = 16
[arguments]
bits = { shape = ["rows", "words"] }
query = { shape = ["words"] }
dist = { shape = ["rows"] }
*/
#include <cstdint>
void hamming(const int* bits, const int* query, int* dist, int rows, int words) {
  for (int r = 0; r < rows; ++r) {
    int total = 0;
    for (int w = 0; w < words; ++w) {
      std::uint32_t x = static_cast<std::uint32_t>(bits[r * words + w] ^ query[w]);
      for (; x; x &= x - 1) ++total;
    }
    dist[r] = total;
  }
}
