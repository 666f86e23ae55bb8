/* kernelwright
[sizes]
count = 1500
[arguments]
xyz = { shape = ["count * 3"], values = "uniform" }
grad = { shape = ["count * 3"] }
box = { value = 12.0 }
cutoff = { value = 3.0 }
*/
#include <algorithm>
#include <cmath>
#include <vector>

template <typename T>
struct Pair {
  T energy;
  T force;
};

template <typename T>
static Pair<T> interact(T r2) {
  const T inv = T(1) / std::max(r2, T(0.5));
  const T s6 = inv * inv * inv;
  return {T(4) * s6 * (s6 - T(1)), T(24) * inv * s6 * (T(2) * s6 - T(1))};
}

double lj(const std::vector<double>& xyz, std::vector<double>& grad, double box, double cutoff, int count) {
  const double limit = cutoff * cutoff;
  auto nearest = [box](double d) { return box * (d - std::rint(d)); };
  double energy = 0;
  for (int j = 1; j < count; ++j) {
    for (int i = 0; i < j; ++i) {
      const double dx = nearest(xyz[3 * i] - xyz[3 * j]);
      const double dy = nearest(xyz[3 * i + 1] - xyz[3 * j + 1]);
      const double dz = nearest(xyz[3 * i + 2] - xyz[3 * j + 2]);
      const double r2 = dx * dx + dy * dy + dz * dz;
      if (r2 > limit) continue;
      const Pair<double> found = interact(r2);
      energy += found.energy;
      grad[3 * i] += found.force * dx;
      grad[3 * i + 1] += found.force * dy;
      grad[3 * i + 2] += found.force * dz;
      grad[3 * j] -= found.force * dx;
      grad[3 * j + 1] -= found.force * dy;
      grad[3 * j + 2] -= found.force * dz;
    }
  }
  return energy;
}
