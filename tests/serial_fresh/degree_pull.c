/* kernelwright
[sizes]
n = 3000
deg = 6
[arguments]
nbr = { shape = ["n", "deg"], values = "index", bound = "n" }
rank = { shape = ["n"], values = "positive" }
next = { shape = ["n"] }
diff = { shape = [1] }
*/
#include <math.h>
#include <stddef.h>
typedef struct { size_t count; float damping; } conf_t;
static float pull(const int *nbr, const float *rank, size_t v, int deg) {
  float s = 0.f;
  int k = 0;
  do { s += rank[nbr[v * deg + k]] / (float)deg; } while (++k < deg);
  return s;
}
void pagerank_step(const int *nbr, const float *rank, float *next, float *diff, int n, int deg) {
  const conf_t c = {(size_t)n, 0.85f};
  float worst = 0.f;
  for (size_t v = 0; v < c.count; v++) {
    float fresh = (1 - c.damping) / n + c.damping * pull(nbr, rank, v, deg);
    float d = fabsf(fresh - rank[v]);
    if (d > worst) worst = d;
    next[v] = fresh;
  }
  *diff = worst;
}
