/* kernelwright
[sizes]
n = 2048
[arguments]
x = { shape = ["n"] }
y = { shape = [1] }
*/
#include <cmath>
#include <vector>
void rangesum(std::vector<double> const& x, std::vector<double>& y) {
  double s = 0;
  for (double v : x) s += std::abs(v);
  y[0] = s;
}
