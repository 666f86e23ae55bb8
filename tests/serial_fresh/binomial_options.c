/* kernelwright
[sizes]
n = 200
steps = 64
[arguments]
spot = { shape = ["n"], values = "positive" }
strike = { shape = ["n"], values = "positive" }
price = { shape = ["n"] }
*/
#include <math.h>
#define STEPS 64
void binomial_options(const float *spot, const float *strike, float *price, int n, int steps) {
  const float dt = 1.0f / STEPS, u = expf(0.2f * sqrtf(dt)), d = 1 / u, p = (expf(0.01f * dt) - d) / (u - d), disc = expf(-0.01f * dt);
  for (int o = 0; o < n; ++o) {
    float v[STEPS + 1];
    float s = spot[o];
    for (int k = 0; k < steps; ++k) s *= d;
    for (int k = 0; k <= steps; ++k, s *= u * u) v[k] = s > strike[o] ? s - strike[o] : 0.0f;
    for (int t = steps; t > 0; --t)
      for (int k = 0; k < t; ++k) v[k] = disc * (p * v[k + 1] + (1 - p) * v[k]);
    price[o] = v[0];
  }
}
