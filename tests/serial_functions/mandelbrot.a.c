/* kernelwright
[sizes]
h = 300
w = 400
[arguments]
re = { shape = ["w"] }
im = { shape = ["h"] }
count = { shape = ["h", "w"] }
limit = { value = 200 }
*/
void mandelbrot(const double *re, const double *im, int *count, int limit, int h, int w) {
  for (int y = 0; y < h; y++) {
    for (int x = 0; x < w; x++) {
      double a = 0, b = 0;
      int n = 0;
      while (n < limit && a * a + b * b <= 4.0) {
        double t = a * a - b * b + re[x];
        b = 2 * a * b + im[y];
        a = t;
        n++;
      }
      count[y * w + x] = n;
    }
  }
}
