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
void both_ways(int n, int m, const double *A, const double *p, const double *r, double *s, double *q) {
  for (int j = 0; j < m; j++) s[j] = 0.0;
  for (int i = 0; i < n; i++) {
    q[i] = 0.0;
    for (int j = 0; j < m; j++) {
      s[j] = s[j] + r[i] * A[i * m + j];
      q[i] = q[i] + A[i * m + j] * p[j];
    }
  }
}
