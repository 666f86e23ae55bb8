/* kernelwright
[sizes]
n = 4000
[arguments]
S = { shape = ["n"], values = "positive" }
K = { shape = ["n"], values = "positive" }
T = { shape = ["n"], values = "positive" }
call = { shape = ["n"] }
put = { shape = ["n"] }
rate = { value = 0.02 }
vol = { value = 0.3 }
*/
#include <math.h>
static float cnd(float d) {
  const float A1 = 0.31938153f, A2 = -0.356563782f, A3 = 1.781477937f, A4 = -1.821255978f, A5 = 1.330274429f;
  float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
  float c = 0.39894228040143267794f * expf(-0.5f * d * d) * (k * (A1 + k * (A2 + k * (A3 + k * (A4 + k * A5)))));
  if (d > 0) c = 1.0f - c;
  return c;
}
void black_scholes(const float *S, const float *K, const float *T, float *call, float *put, float rate, float vol, int n) {
  int i = 0;
  while (i < n) {
    float sq = sqrtf(T[i]);
    float d1 = (logf(S[i] / K[i]) + (rate + 0.5f * vol * vol) * T[i]) / (vol * sq);
    float d2 = d1 - vol * sq;
    float e = expf(-rate * T[i]);
    call[i] = S[i] * cnd(d1) - K[i] * e * cnd(d2);
    put[i] = K[i] * e * (1.0f - cnd(d2)) - S[i] * (1.0f - cnd(d1));
    ++i;
  }
}
