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
void nearest(int queries, int points, const float *qx, const float *qy, const float *px, const float *py, int *which, float *far) {
  for (int i = 0; i < queries; i++) {
    float best = INFINITY;
    int where = -1;
    for (int j = 0; j < points; j++) {
      float dx = qx[i] - px[j], dy = qy[i] - py[j];
      float d = dx * dx + dy * dy;
      if (d < best) {
        best = d;
        where = j;
      }
    }
    which[i] = where;
    far[i] = sqrtf(best);
  }
}
