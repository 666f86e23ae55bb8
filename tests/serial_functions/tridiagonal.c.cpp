/* kernelwright
function = "solve_all"
[sizes]
systems = 3000
[arguments]
sub = { shape = ["systems", 96], values = "uniform" }
main_ = { shape = ["systems", 96], values = "positive" }
super = { shape = ["systems", 96], values = "uniform" }
rhs = { shape = ["systems", 96] }
out = { shape = ["systems", 96] }
*/
#include <array>

template <int N>
struct Solver {
  std::array<double, N> factor;

  void run(const double* sub, const double* main_, const double* super, const double* rhs, double* out) {
    double carried = 0.0, factored = 0.0;
    for (int i = 0; i < N; ++i) {
      const double low = i > 0 ? sub[i] : 0.0;
      const double pivot = main_[i] + 2.0 - low * factored;
      factored = super[i] / pivot;
      carried = (rhs[i] - low * carried) / pivot;
      factor[i] = factored;
      out[i] = carried;
    }
    for (int i = N - 2; i >= 0; --i) out[i] -= factor[i] * out[i + 1];
  }
};

void solve_all(const double* sub, const double* main_, const double* super, const double* rhs, double* out,
               int systems) {
  Solver<96> solver;
  for (int s = 0; s < systems; ++s) {
    const int at = s * 96;
    solver.run(sub + at, main_ + at, super + at, rhs + at, out + at);
  }
}
