/* kernelwright
[sizes]
rows = 50
n = 60
[arguments]
x = { shape = ["rows", "n"] }
last = { shape = ["rows"] }
lo = { shape = ["rows"] }
hi = { shape = ["rows"] }
*/
void edge_c(const float *x, int *last, int *lo, int *hi, int rows, int n) {
  for (int r = 0; r < rows; ++r) {
    const float *row = x + r * n;
    int a = 0, b = n - 1, c = -1;
    for (int i = 0; i < n; ++i) {
      if (row[i] < row[a]) a = i;
      if (row[b] < row[i]) b = i;
    }
    for (unsigned i = 0; i < (unsigned)n; i += 2)
      if (row[i] > 0.5f) c = i;
    last[r] = c; lo[r] = a; hi[r] = b;
  }
}
