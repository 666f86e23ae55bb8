/* kernelwright
description = "Prices of European call options after Black and Scholes, at a rate of 2 % and a volatility of 30 %."
family = "pointwise"
difficulty = "easy"

[sizes]
n = 4194304
[workloads]
small = { n = 131072 }
[arguments]
spot = { shape = ["n"], values = "positive" }
strike = { shape = ["n"], values = "positive" }
years = { shape = ["n"], values = "positive" }
call = { shape = ["n"] }
*/
#include <cmath>

static float normal(float d) { return 0.5f * std::erfc(-d * 0.70710678f); }

void black_scholes(const float* spot, const float* strike, const float* years, float* call, long n) {
  for (long i = 0; i < n; ++i) {
    const float spread = 0.3f * std::sqrt(years[i]);
    const float d1 = (std::log(spot[i] / strike[i]) + (0.02f + 0.045f) * years[i]) / spread;
    call[i] = spot[i] * normal(d1) - strike[i] * std::exp(-0.02f * years[i]) * normal(d1 - spread);
  }
}
