/* kernelwright
[sizes]
n = 64
[arguments]
a = { shape = ["n * n * n"], inout = true }
b = { shape = ["n * n * n"], inout = true }
*/
#define STEPS 4
#define IDX(x, y, z) (((x) * n + (y)) * n + (z))
#define INSIDE(v) for (int v = 1; v < n - 1; ++v)

static inline double stencil(const double *restrict f, int n, int x, int y, int z) {
  double around = f[IDX(x - 1, y, z)] + f[IDX(x + 1, y, z)];
  around += f[IDX(x, y - 1, z)] + f[IDX(x, y + 1, z)];
  around += f[IDX(x, y, z - 1)] + f[IDX(x, y, z + 1)];
  return f[IDX(x, y, z)] + 0.1 * (around - 6.0 * f[IDX(x, y, z)]);
}

static void sweep(const double *restrict from, double *restrict to, int n) {
  INSIDE(x) INSIDE(y) INSIDE(z) to[IDX(x, y, z)] = stencil(from, n, x, y, z);
}

void heat(double *a, double *b, int n) {
  for (int t = 0; t < STEPS; ++t) {
    sweep(a, b, n);
    sweep(b, a, n);
  }
}
