/* kernelwright
[sizes]
n = 3000
[arguments]
x = { shape = ["n"] }
y = { shape = ["n"] }
*/
void partial_min(const float *x, float *y, int n) {
  float m = x[0];
  for (int i = 0; i < n; i++) {
    if (x[i] < m) m = x[i];
    y[i] = m;
  }
}
