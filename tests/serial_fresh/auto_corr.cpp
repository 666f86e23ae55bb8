/* kernelwright
[sizes]
n = 4000
lags = 40
[arguments]
x = { shape = ["n"] }
r = { shape = ["lags"] }
*/
#include <numeric>
void auto_corr(const float* x, float* r, int n, int lags) {
  const double mean = std::accumulate(x, x + n, 0.0) / n;
  double var = 0;
  for (int i = 0; i < n; ++i) var += (x[i] - mean) * (x[i] - mean);
  for (int k = 0; k < lags; ++k) {
    double s = 0;
    for (int i = k; i < n; ++i) s += (x[i] - mean) * (x[i - k] - mean);
    r[k] = s / var;
  }
}
