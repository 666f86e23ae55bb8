/* kernelwright
[sizes]
n = 50
[arguments]
base = { shape = ["n"], values = "index", bound = 4 }
best = { shape = ["n", "n"] }
*/
#define T(i, j) best[(i) * n + (j)]
#define UPTO(x) (z = (x), z > w ? (w = z) : 0)
void fold(int n, const int *base, int *best) {
  int d, s, z, w, e = n * n;
  while (e) best[--e] = 0;
  for (d = 1; d <= n - 1; d++) {
    for (s = n - d - 1; s >= 0; s--) {
      const int f = s + d;
      w = T(s, f - 1);
      UPTO(T(s + 1, f));
      if (d >= 2) UPTO(T(s + 1, f - 1) + !(base[s] + base[f] - 3));
      for (e = f - 1; e > s; --e) UPTO(T(s, e) + T(e + 1, f));
      T(s, f) = w;
    }
  }
}
