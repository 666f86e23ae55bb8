/* kernelwright
[sizes]
m = 60
n = 50
[arguments]
data = { shape = ["m","n"], inout = true }
mu = { shape = ["n"] }
sigma = { shape = ["n"] }
corr = { shape = ["n","n"] }
*/
#include <cmath>
template <typename T> inline T sq(T v) { return v * v; }
void corr_matrix(float* data, float* mu, float* sigma, float* corr, int m, int n) {
  for (int j = 0; j < n; ++j) mu[j] = sigma[j] = 0.0f;
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) mu[j] += data[i * n + j] / m;
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) sigma[j] += sq(data[i * n + j] - mu[j]);
  for (int j = 0; j < n; ++j) {
    sigma[j] = std::sqrt(sigma[j] / m);
    if (sigma[j] <= 0.1f) { sigma[j] = 1.0f; }
  }
  for (int e = 0; e < m * n; ++e) data[e] = (data[e] - mu[e % n]) / (std::sqrt(float(m)) * sigma[e % n]);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      float s = 0.0f;
      for (int k = 0; k < m; ++k) s += data[k * n + i] * data[k * n + j];
      corr[i * n + j] = i == j ? 1.0f : s;
    }
}
