/* kernelwright
[sizes]
n = 50
[arguments]
base = { shape = ["n"], values = "index", bound = 4 }
best = { shape = ["n", "n"] }
*/
#include <algorithm>
template <class T> inline const T &larger(const T &a, const T &b) { return a < b ? b : a; }
void fold(int n, const int *base, int *best) {
  const auto pairs = [base](int i, int j) { return base[i] + base[j] == 3; };
  std::fill(best, best + n * n, 0);
  for (int wide = 1; wide < n; ++wide)
    for (int i = 0; i + wide < n; ++i) {
      const int j = i + wide;
      int top = larger(best[i * n + j - 1], best[(i + 1) * n + j]);
      if (wide > 1) top = std::max(top, best[(i + 1) * n + j - 1] + (pairs(i, j) ? 1 : 0));
      for (int k = i + 1; k < j; ++k) top = std::max(top, best[i * n + k] + best[(k + 1) * n + j]);
      best[i * n + j] = top;
    }
}
