/* kernelwright
[sizes]
many = 60000
turns = 10
[arguments]
state = { shape = ["many * 6"], values = "uniform", inout = true }
h = { value = 0.05 }
hits = { shape = [1] }
*/
static int bounce(double *x, double *v) {
  const int low = *x < 0.0, high = *x > 1.0;
  if (low) *x = -*x;
  if (high) *x = 2.0 - *x;
  if (low || high) *v *= -0.9;
  return low + high;
}

void move(double *state, double h, int many, int turns, int *hits) {
  while (turns-- > 0) {
    double *s = state;
    for (int left = many; left > 0; --left) {
      double *v = s + 3;
      v[2] -= 9.81 * h;
      s[0] += h * v[0];
      s[1] += h * v[1];
      s[2] += h * v[2];
      *hits += bounce(s, v);
      *hits += bounce(s + 1, v + 1);
      *hits += bounce(s + 2, v + 2);
      s += 6;
    }
  }
}
