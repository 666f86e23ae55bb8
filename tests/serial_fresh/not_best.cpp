/* kernelwright
[sizes]
n = 5000
[arguments]
x = { shape = ["n"] }
y = { shape = ["n"] }
at = { shape = [2] }
*/
void not_best(const float *x, const float *y, int *at, int n) {
  int a = 0, b = 0;
  float t = 2, s = 0;
  for (int i = 1; i < n; ++i) {
    const float t = y[i];
    if (x[i] * t > x[a] * t) a = i;
  }
  for (int i = 1; i < n; ++i) {
    s += y[i];
    if (x[i] * s < x[b] * s) b = i;
  }
  at[0] = a; at[1] = b + (int)t;
}
