/* kernelwright
[sizes]
n = 4000
[arguments]
t = { shape = ["n"], values = "index", bound = 100 }
v = { shape = ["n"] }
out = { shape = [3] }
*/
void edge_d(const int *t, const float *v, float *out, int n) {
  float level = 0, when = -1, prev = 0;
  for (int i = 0; i < n; ++i) {
    const float s = v[i] * 2;
    if (t[i] == 42) { level = s + 1; when = i; }
  }
  for (int i = 0; i < n; ++i)
    if (v[i] > prev) prev = v[i] - 0.5f;
  out[0] = level; out[1] = when; out[2] = prev;
}
