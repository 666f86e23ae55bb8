/* kernelwright
[sizes]
v = 500
deg = 6
[arguments]
adj = { shape = ["v","deg"], values = "index", bound = "v" }
front = { shape = ["v"], values = "index", bound = 2 }
level = { shape = ["v"], inout = true, values = "index", bound = 3 }
next = { shape = ["v"] }
*/
static int touches(const int *list, const int *front, int deg) {
  int e;
  for (e = 0; e < deg; e++)
    if (front[list[e]]) return 1;
  return 0;
}
void expand(const int *adj, const int *front, int *level, int *next, int v, int deg) {
  for (int i = v - 1; i >= 0; i--) {
    next[i] = touches(&adj[i * deg], front, deg) & (level[i] == 0);
    level[i] = next[i] ? 3 : level[i];
  }
}
