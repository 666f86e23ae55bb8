/* kernelwright
[sizes]
n = 50
[arguments]
base = { shape = ["n"], values = "index", bound = 4 }
best = { shape = ["n", "n"] }
*/
void fold(int n, const int *base, int *best) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) best[i * n + j] = 0;
  for (int i = n - 1; i >= 0; i--)
    for (int j = i + 1; j < n; j++) {
      int top = best[i * n + j - 1];
      if (best[(i + 1) * n + j] > top) top = best[(i + 1) * n + j];
      if (i < j - 1) {
        int pair = best[(i + 1) * n + j - 1] + (base[i] + base[j] == 3 ? 1 : 0);
        if (pair > top) top = pair;
      }
      for (int k = i + 1; k < j; k++) {
        int split = best[i * n + k] + best[(k + 1) * n + j];
        if (split > top) top = split;
      }
      best[i * n + j] = top;
    }
}
