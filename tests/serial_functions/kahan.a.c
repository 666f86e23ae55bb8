/* kernelwright
[sizes]
n = 1000000
[arguments]
x = { shape = ["n"], values = "uniform" }
y = { shape = ["n"], values = "uniform" }
*/
float kahan_dot(const float *x, const float *y, int n) {
  float sum = 0.0f, c = 0.0f;
  for (int i = 0; i < n; i++) {
    float term = x[i] * y[i] - c;
    float next = sum + term;
    c = (next - sum) - term;
    sum = next;
  }
  return sum;
}
