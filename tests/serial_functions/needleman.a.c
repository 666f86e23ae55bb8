/* kernelwright
[sizes]
n = 1000
m = 1200
[arguments]
s = { shape = ["n"], values = "index", bound = 4 }
t = { shape = ["m"], values = "index", bound = 4 }
score = { shape = ["n + 1", "m + 1"] }
gap = { value = 2 }
*/
void needleman(const int *s, const int *t, int *score, int gap, int n, int m) {
  int w = m + 1;
  for (int i = 0; i <= n; i++) score[i * w] = -i * gap;
  for (int j = 0; j <= m; j++) score[j] = -j * gap;
  for (int i = 1; i <= n; i++) {
    for (int j = 1; j <= m; j++) {
      int best = score[(i - 1) * w + j - 1] + (s[i - 1] == t[j - 1] ? 3 : -1);
      if (score[(i - 1) * w + j] - gap > best) best = score[(i - 1) * w + j] - gap;
      if (score[i * w + j - 1] - gap > best) best = score[i * w + j - 1] - gap;
      score[i * w + j] = best;
    }
  }
}
