/* kernelwright
[sizes]
rows = 300
cols = 400
[arguments]
xs = { shape = ["cols"] }
ys = { shape = ["rows"] }
out = { shape = ["rows", "cols"] }
*/
#define LIMIT 200
typedef struct { double re, im; } cplx;

static cplx square(cplx z) {
  cplx s;
  s.re = z.re * z.re - z.im * z.im;
  s.im = 2 * z.re * z.im;
  return s;
}

static cplx add(cplx a, cplx b) {
  cplx s = {a.re + b.re, a.im + b.im};
  return s;
}

static int iterations(cplx c) {
  cplx z = {0, 0};
  for (int n = 0; n < LIMIT; n++) {
    if (z.re * z.re + z.im * z.im > 4.0) return n;
    z = add(square(z), c);
  }
  return LIMIT;
}

void fractal(const double *xs, const double *ys, int *out, int rows, int cols) {
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < cols; j++) {
      cplx c = {xs[j], ys[i]};
      out[i * cols + j] = iterations(c);
    }
}
