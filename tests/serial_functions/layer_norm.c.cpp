/* kernelwright
function = "norm_rows"
[sizes]
batch = 1500
[arguments]
x = { shape = ["batch", 384] }
gamma = { shape = [384] }
beta = { shape = [384] }
y = { shape = ["batch", 384] }
mean = { shape = ["batch"] }
rstd = { shape = ["batch"] }
*/
#include <cmath>

struct Moments {
  double sum = 0.0;
  double squares = 0.0;
  void add(double v) {
    sum += v;
    squares += v * v;
  }
};

template <int N>
static void normalise_row(const float* x, const float* gamma, const float* beta, float* y, float& mean, float& rstd) {
  Moments m;
  for (int i = 0; i < N; ++i) m.add(x[i]);
  const double centre = m.sum / N;
  const double scale = 1.0 / std::sqrt(m.squares / N - centre * centre + 1e-5);
  auto affine = [&](int i) { return static_cast<float>((x[i] - centre) * scale) * gamma[i] + beta[i]; };
  for (int i = 0; i < N; ++i) y[i] = affine(i);
  mean = static_cast<float>(centre);
  rstd = static_cast<float>(scale);
}

void norm_rows(const float* x, const float* gamma, const float* beta, float* y, float* mean, float* rstd, int batch) {
  for (int r = 0; r < batch; ++r) normalise_row<384>(x + r * 384, gamma, beta, y + r * 384, mean[r], rstd[r]);
}
