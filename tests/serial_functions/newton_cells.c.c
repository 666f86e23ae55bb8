/* kernelwright
[sizes]
n = 20000
[arguments]
x = { shape = ["n"], values = "positive" }
root = { shape = ["n"] }
turns = { shape = ["n"] }
*/
#include <math.h>
#define CUBE(t) ((t) * (t) * (t))
void roots(const double *x, double *root, int *turns, int n) {
  int at;
  for (at = n; at-- > 0;) {
    double *r = root + at, e;
    int *c = &turns[at];
    *r = x[at];
    *c = 0;
    for (;;) {
      e = CUBE(*r) - x[at];
      if (!(fabs(e) > 1e-9) || *c >= 50) break;
      *r -= e / (3 * *r * *r);
      ++*c;
    }
  }
}
