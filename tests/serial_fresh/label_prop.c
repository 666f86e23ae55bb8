/* kernelwright
[sizes]
n = 2000
d = 5
labels = 8
[arguments]
adj = { shape = ["n", "d"], values = "index", bound = "n" }
lab = { shape = ["n"], values = "index", bound = "labels" }
newlab = { shape = ["n"] }
*/
/* every vertex takes the most frequent label of its neighbours, the smallest of equals */
void label_prop(const int *adj, const int *lab, int *newlab, int n, int d, int labels) {
  for (int v = 0; v < n; v++) {
    int cnt[8];
    for (int l = 0; l < 8; l++) cnt[l] = 0;
    for (int e = 0; e < d; e++) cnt[lab[adj[v * d + e]]]++;
    int best = -1, bestc = 0;
    for (int l = 0; l < labels; l++)
      if (cnt[l] > bestc) { bestc = cnt[l]; best = l; }
    newlab[v] = best;
  }
}
