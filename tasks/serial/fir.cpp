/* kernelwright
description = "A finite impulse response: every sample is the sum of 32 neighbours, each times its tap."
family = "convolution"
difficulty = "medium"

[sizes]
n = 4194304
taps = 32
[workloads]
small = { n = 131072 }
[arguments]
x = { shape = ["n + taps"] }
tap = { shape = ["taps"] }
out = { shape = ["n"] }
*/
void fir(const float* x, const float* tap, float* out, long n, long taps) {
  for (long i = 0; i < n; ++i) {
    float sum = 0.0f;
    for (long k = 0; k < taps; ++k) sum += x[i + k] * tap[k];
    out[i] = sum;
  }
}
