/* kernelwright
[sizes]
len = 500
count = 72
[arguments]
vecs = { shape = ["len", "count"], inout = true }
tri = { shape = ["count", "count"] }
basis = { shape = ["len", "count"] }
*/
#include <math.h>
void orthogonalise(double *vecs, double *tri, double *basis, int len, int count) {
  int k = 0, i, j;
  do {
    double square = 0;
    double *v = vecs + k;
    for (i = len; i > 0; i--, v += count) square += *v * *v;
    const double length = sqrt(square);
    tri[k * (count + 1)] = length;
    const double *from = vecs + k;
    double *to = basis + k;
    i = 0;
    while (i < len) {
      *to = *from / length;
      to += count;
      from += count;
      i++;
    }
    for (j = count - 1; j > k; j--) {
      double along = 0;
      for (i = 0; i < len; i++) along += basis[i * count + k] * vecs[i * count + j];
      tri[k * count + j] = along;
      for (i = 0; i < len; i++) vecs[i * count + j] -= along * basis[i * count + k];
    }
  } while (++k < count);
}
