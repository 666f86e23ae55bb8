/* kernelwright
[sizes]
n = 20000
[arguments]
x = { shape = ["n"], values = "index", bound = 3 }
start = { shape = ["n"] }
runs = { shape = [1] }
*/
void rle_starts(const int *x, int *start, int *runs, int n) {
  int m = 0;
  for (int i = 0; i < n; i++) {
    if (i > 0 && x[i] == x[i - 1]) continue;
    start[m++] = i;
  }
  runs[0] = m;
}
