/* kernelwright
[sizes]
n = 8000
m = 3
[arguments]
text = { shape = ["n + 3"], values = "index", bound = 4 }
pat = { shape = ["m"], values = "index", bound = 4 }
hits = { shape = ["n"] }
*/
void find_pattern(const int *text, const int *pat, int *hits, int n, int m) {
  for (int i = 0; i < n; i++) {
    int j = 0;
    while (j < m && text[i + j] == pat[j]) j++;
    hits[i] = (j == m);
  }
}
