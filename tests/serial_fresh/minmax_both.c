/* kernelwright
[sizes]
n = 30000
[arguments]
x = { shape = ["n"] }
where = { shape = [2] }
ext = { shape = [2] }
*/
void minmax_both(const float *x, int *where, float *ext, int n) {
  int lo = 0, hi = 0;
  for (int i = 1; i < n; i++) {
    if (x[i] < x[lo]) lo = i;
    if (x[i] > x[hi]) hi = i;
  }
  where[0] = lo; where[1] = hi;
  ext[0] = x[lo]; ext[1] = x[hi];
}
