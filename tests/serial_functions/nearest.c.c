/* kernelwright
[sizes]
queries = 400
points = 600
[arguments]
qx = { shape = ["queries"] }
qy = { shape = ["queries"] }
px = { shape = ["points"] }
py = { shape = ["points"] }
which = { shape = ["queries"] }
far = { shape = ["queries"] }
*/
#include <math.h>
#define SQ(z) ((z) * (z))
#define DIST(a, b) (SQ(qx[a] - px[b]) + SQ(qy[a] - py[b]))
void nearest(int queries, int points, const float *qx, const float *qy, const float *px, const float *py, int *which, float *far) {
  int u = queries;
  do {
    --u;
    int v = points - 1;
    which[u] = v;
    for (; v >= 0; v--)
      if (DIST(u, v) <= DIST(u, which[u])) which[u] = v;
    far[u] = sqrtf(DIST(u, which[u]));
  } while (u > 0);
}
