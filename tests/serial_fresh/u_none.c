/* kernelwright
[sizes]
n = 3000
[arguments]
x = { shape = ["n"] }
at = { shape = [3] }
*/
void u_none(const float *x, int *at, int n) {
  int k = -1, m = -1;
  unsigned lo = 5, hi = 3;
  for (unsigned i = lo; i < hi; ++i)
    if (x[i] > -9.0f) k = i;
  for (unsigned i = lo; i < hi; ++i)
    if (x[i] > -9.0f) { m = i; break; }
  at[0] = k; at[1] = m;
  at[2] = 0;
  for (int i = 0; i < n; i++) at[2] += x[i] > 0;
}
