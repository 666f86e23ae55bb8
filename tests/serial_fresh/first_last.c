/* kernelwright
[sizes]
rows = 200
n = 100
[arguments]
a = { shape = ["rows", "n"], values = "index", bound = 20 }
first = { shape = ["rows"] }
last = { shape = ["rows"] }
*/
void first_last(const int *a, int *first, int *last, int rows, int n) {
  for (int r = 0; r < rows; r++) {
    first[r] = last[r] = -1;
    for (int i = 0; i < n; i++)
      if (a[r * n + i] == 7) {
        if (first[r] < 0) first[r] = i;
        last[r] = i;
      }
  }
}
