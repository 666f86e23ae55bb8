/* kernelwright
[sizes]
n = 5000
[arguments]
x = { shape = ["n"], values = "uniform" }
y = { shape = ["n"] }
*/
void scan(const float *x, float *y, int n) {
  float s = 0;
  for (int i = 0; i < n; i++) {
    y[i] = s;
    s += x[i] * x[i];
  }
}
