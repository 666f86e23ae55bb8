/* kernelwright
[sizes]
rows = 500
cols = 400
[arguments]
table = { shape = ["rows", "cols"] }
limit = { value = 2.2 }
found = { shape = ["rows"] }
*/
#include <algorithm>
template <typename Iterator, typename Test> static Iterator seek(Iterator first, Iterator last, Test test) {
  for (; first != last; ++first)
    if (test(*first)) return first;
  return last;
}
void first_above(int rows, int cols, const float *table, float limit, int *found) {
  for (int i = 0; i < rows; ++i) {
    const float *row = table + i * cols;
    const float *hit = seek(row, row + cols, [limit](float v) { return v > limit; });
    found[i] = hit == row + cols ? -1 : static_cast<int>(hit - row);
  }
}
