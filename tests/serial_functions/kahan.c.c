/* kernelwright
[sizes]
n = 1000000
[arguments]
a = { shape = ["n"], values = "uniform" }
b = { shape = ["n"], values = "uniform" }
*/
struct accumulator {
  float sum;
  float error;
};

static void put(struct accumulator *to, float v) {
  const float y = v - to->error;
  const float t = to->sum + y;
  to->error = (t - to->sum) - y;
  to->sum = t;
}

float compensated(const float *a, const float *b, int n) {
  struct accumulator acc[4] = {{0, 0}, {0, 0}, {0, 0}, {0, 0}};
  for (int i = 0; i < n; i++) put(&acc[i & 3], a[i] * b[i]);
  struct accumulator all = {0, 0};
  for (int k = 0; k < 4; k++) put(&all, acc[k].sum - acc[k].error);
  return all.sum;
}
