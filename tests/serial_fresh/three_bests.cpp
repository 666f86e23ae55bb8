/* kernelwright
[sizes]
n = 20000
[arguments]
x = { shape = ["n"] }
y = { shape = ["n"], values = "index", bound = 40 }
at = { shape = [4] }
*/
#include <cmath>
void three_bests(const float *x, const int *y, int *at, int n) {
  int a = 0, b = 0, c = 0;
  int sum = 0;
  for (int i = 1; i < n; ++i) {
    if (std::fabs(x[i]) > std::fabs(x[a])) a = i;
    sum += y[i];
    if (y[i] >= y[b]) b = i;
    if (y[c] > y[i]) { c = i; }
  }
  at[0] = a; at[1] = b; at[2] = c; at[3] = sum;
}
