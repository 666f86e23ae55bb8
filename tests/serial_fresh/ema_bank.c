/* kernelwright
[sizes]
channels = 64
n = 200
[arguments]
x = { shape = ["channels", "n"] }
y = { shape = ["channels", "n"] }
alpha = { value = 0.125 }
*/
void ema_bank(const float *x, float *y, float alpha, int channels, int n) {
  for (int c = 0; c < channels; c++) {
    float state = x[c * n];
    for (int t = 0; t < n; t++) {
      state += alpha * (x[c * n + t] - state);
      y[c * n + t] = state;
    }
  }
}
