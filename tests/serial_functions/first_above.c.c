/* kernelwright
[sizes]
rows = 500
cols = 400
[arguments]
table = { shape = ["rows", "cols"] }
limit = { value = 2.2 }
found = { shape = ["rows"] }
*/
static int scan(const float *p, int c, float lim) {
  int k = 0;
  while (k < c && !(*(p + k) > lim)) k++;
  return k == c ? -1 : k;
}
void first_above(int rows, int cols, const float *table, float limit, int *found) {
  for (const float *p = table; p != table + rows * cols; p += cols) *found++ = scan(p, cols, limit);
}
