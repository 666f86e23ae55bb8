/* kernelwright
[sizes]
n = 4000
taps = 31
m = 1000
[arguments]
x = { shape = ["n + 31"] }
h = { shape = ["taps"] }
y = { shape = ["m"] }
*/
void fir_decimate(const float *restrict x, const float *restrict h, float *restrict y, int n, int taps, int m) {
  const float *window = x;
  float *o = y;
  int left = m;
  while (left--) {
    float acc = 0;
    const float *xp = window, *hp = h + taps;
    for (int t = 0; t < taps; ++t) acc += *xp++ * *--hp;
    *o++ = acc;
    window += 4;
  }
}
