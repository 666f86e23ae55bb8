/* kernelwright
[sizes]
n = 4000
m = 100
[arguments]
x = { shape = ["n"] }
edge = { shape = ["m"], values = "index", bound = 50 }
bin = { shape = ["n"] }
*/
static int bisect(const int *e, int m, int v) {
  int lo = 0, hi = m;
  while (lo < hi) {
    int mid = lo + ((hi - lo) >> 1);
    if (e[mid] < v) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}
void digitize(const int *x, const int *edge, int *bin, int n, int m) {
  for (int i = 0; i < n; i++) bin[i] = bisect(edge, m, x[i]);
}
