/* kernelwright
[sizes]
systems = 3000
n = 96
[arguments]
lower = { shape = ["systems", "n"], values = "uniform" }
diag = { shape = ["systems", "n"], values = "positive" }
upper = { shape = ["systems", "n"], values = "uniform" }
rhs = { shape = ["systems", "n"] }
x = { shape = ["systems", "n"] }
*/
/* the diagonal is given less 2.0, which makes it dominant */
void tridiagonal(const double *lower, const double *diag, const double *upper, const double *rhs, double *x,
                 int systems, int n) {
  double cp[n], dp[n];
  for (int s = 0; s < systems; s++) {
    const double *a = lower + s * n, *b = diag + s * n, *c = upper + s * n, *d = rhs + s * n;
    cp[0] = c[0] / (b[0] + 2.0);
    dp[0] = d[0] / (b[0] + 2.0);
    for (int i = 1; i < n; i++) {
      double m = b[i] + 2.0 - a[i] * cp[i - 1];
      cp[i] = c[i] / m;
      dp[i] = (d[i] - a[i] * dp[i - 1]) / m;
    }
    x[s * n + n - 1] = dp[n - 1];
    for (int i = n - 2; i >= 0; i--) x[s * n + i] = dp[i] - cp[i] * x[s * n + i + 1];
  }
}
