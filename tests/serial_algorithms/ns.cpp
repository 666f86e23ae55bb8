/* kernelwright
[sizes]
n = 3000
[arguments]
x = { shape = ["n"] }
y = { shape = [1] }
*/
#include <algorithm>
#include <numeric>
#include <cmath>
using namespace std;
void ns(const float* x, float* y, int n) {
  float top = *max_element(x, x + n);
  float s = accumulate(x, x + n, 0.f, [top](float a, float b) { return a + exp(b - top); });
  *y = top + log(s);
}
