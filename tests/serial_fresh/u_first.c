/* kernelwright
[sizes]
n = 3000
[arguments]
x = { shape = ["n"] }
at = { shape = [2] }
*/
void u_first(const float *x, int *at, int n) {
  int k = -1, m = -1;
  for (unsigned i = 0; i < 30u; ++i)
    if (x[i] > -9.0f && i - 5 < 10u) { k = (i - 20 > 5u) ? 7 + i : 8; break; }
  for (unsigned i = 0; i < 3u; ++i)
    if (x[i] > -9.0f) { m = (i - 5) / 2; break; }
  at[0] = k; at[1] = m;
}
