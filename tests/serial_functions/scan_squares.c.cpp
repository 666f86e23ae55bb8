/* kernelwright
[sizes]
n = 5000
[arguments]
x = { shape = ["n"], values = "uniform" }
y = { shape = ["n"] }
*/
#include <cstddef>
#include <vector>
void prefix(std::vector<double> const& x, std::vector<double>& y) {
  double run = 0.0;
  for (std::size_t i = 0; i < x.size(); i++) {
    const double v = x[i];
    y[i] = run;
    run += v * v;
  }
}
