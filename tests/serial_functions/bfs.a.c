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
void bfs(const int *adj, const int *front, int *level, int *next, int v, int deg) {
  for (int i = 0; i < v; i++) {
    int hit = 0;
    for (int e = 0; e < deg; e++) hit = hit || front[adj[i * deg + e]];
    next[i] = hit && level[i] == 0;
    if (next[i]) level[i] = 3;
  }
}
