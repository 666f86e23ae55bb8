/* kernelwright
[sizes]
n = 300
[arguments]
x = { shape = ["n"] }
out = { shape = ["n"] }
*/
#include <vector>
void order(const std::vector<float>& x, std::vector<int>& out) {
  const int n = (int)x.size();
  for (int i = 0; i < n; ++i) {
    int below = 0;
    for (int j = 0; j < n; ++j) below += (x[j] < x[i]) ? 1 : (x[j] == x[i] && j < i) ? 1 : 0;
    out[i] = below;
  }
}
