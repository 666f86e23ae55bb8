/* kernelwright
[sizes]
atoms = 1500
[arguments]
at = { shape = ["atoms", 3], values = "uniform" }
push = { shape = ["atoms", 3] }
side = { value = 12.0 }
reach = { value = 3.0 }
total = { shape = [1] }
*/
#include <math.h>
/* every atom looks at all others, so that each pair counts half */
void pair_potential(const double *at, double *push, double side, double reach, int atoms, double *total) {
  double twice = 0;
  const double *p = at;
  double *f = push;
  int i = 0;
  while (i < atoms) {
    double fx = 0, fy = 0, fz = 0;
    const double *q = at;
    const double *end = at + 3 * atoms;
    for (; q < end; q += 3) {
      if (q == p) continue;
      double x = p[0] - q[0], y = p[1] - q[1], z = p[2] - q[2];
      x = (x - rint(x)) * side;
      y = (y - rint(y)) * side;
      z = (z - rint(z)) * side;
      double square = x * x + y * y + z * z;
      if (square <= reach * reach) {
        square = fmax(square, 0.5);
        double inverse = 1 / square;
        double sixth = inverse * inverse * inverse;
        twice += 4 * (sixth * sixth - sixth);
        double size = 48 * (sixth * sixth - 0.5 * sixth) * inverse;
        fx += size * x;
        fy += size * y;
        fz += size * z;
      }
    }
    *f++ = fx;
    *f++ = fy;
    *f++ = fz;
    p += 3;
    i++;
  }
  *total = 0.5 * twice;
}
