/* kernelwright
[sizes]
q = 60
m = 80
n = 90
[arguments]
a = { shape = ["q", "m"], values = "index", bound = 4 }
b = { shape = ["n"], values = "index", bound = 4 }
score = { shape = ["q"] }
*/
/* longest common subsequence of each query with b; two rolling rows on the stack */
void lcs_rows(const int *a, const int *b, int *score, int q, int m, int n) {
  for (int s = 0; s < q; s++) {
    int row[128] = {0};
    const int *mine = a + s * m;
    for (int i = 0; i < m; i++) {
      int diag = 0;
      for (int j = 1; j <= n; j++) {
        int up = row[j];
        row[j] = mine[i] == b[j - 1] ? diag + 1 : (row[j - 1] > up ? row[j - 1] : up);
        diag = up;
      }
    }
    score[s] = row[n];
  }
}
