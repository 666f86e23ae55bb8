/* kernelwright
[sizes]
n = 30000
[arguments]
a = { shape = ["n"], values = "index", bound = 5000 }
b = { shape = ["n"], values = "index", bound = 5000 }
at = { shape = [3] }
*/
void last_more(const int *a, const int *b, int *at, int n) {
  int k = -1, w = 0;
  for (int i = n - 1; i >= 2; i -= 3) {
    const int d = a[i] - b[i - 1];
    if (d < -4990) { k = i; w = d + b[i]; }
  }
  int none = 5;
  for (int i = 0; i < n; i++)
    if (a[i] > 6000) none = i;
  at[0] = k; at[1] = w; at[2] = none;
}
