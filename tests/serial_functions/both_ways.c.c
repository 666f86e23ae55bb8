/* kernelwright
[sizes]
n = 120
m = 90
[arguments]
A = { shape = ["n * m"] }
p = { shape = ["m"] }
r = { shape = ["n"] }
s = { shape = ["m"] }
q = { shape = ["n"] }
*/
#define UP(v, e) for (v = 0; v != (e); ++v)
#define Q(a, b) (*(A + (a) * (long)m + (b)))
void both_ways(int n, int m, const double *A, const double *p, const double *r, double *s, double *q) {
  int k, l;
  double t;
  UP(l, m) {
    t = 0;
    UP(k, n) t += Q(k, l) * r[k];
    *(s + l) = t;
  }
  k = n;
  while (k--) {
    const double *w = A + k * (long)m, *e = w + m, *z = p;
    for (t = 0; w < e;) t += *w++ * *z++;
    q[k] = t;
  }
}
