/* kernelwright
[sizes]
n = 220
steps = 3
[arguments]
u = { shape = ["n", "n"], values = "uniform", inout = true }
*/
#define GO(P, D, W) \
  do {              \
    P += (D);       \
    *P = (W) * P[-(D)] + (1 - (W)) * *P; \
  } while (0)
void line_sweeps(int n, int steps, double *u) {
  do {
    double *o = u;
    for (int a = n; a; a--, o += n) {
      double *p = o;
      int b = n;
      while (--b) GO(p, 1, 0.4);
      b = n;
      while (--b) GO(p, -1, 0.3);
    }
    for (int a = 0; a < n; a++) {
      double *p = u + a;
      for (int b = 1; b < n; b++) GO(p, n, 0.4);
      for (int b = 1; b < n; b++) GO(p, -n, 0.3);
    }
  } while (--steps > 0);
}
