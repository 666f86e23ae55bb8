/* kernelwright
[sizes]
tall = 300
wide = 400
[arguments]
across = { shape = ["wide"] }
up = { shape = ["tall"] }
steps = { shape = ["tall", "wide"] }
most = { value = 200 }
*/
void escape(const double *across, const double *up, int *steps, int most, int tall, int wide) {
  for (long p = (long)tall * wide - 1; p >= 0; --p) {
    const double cr = across[p % wide], ci = up[p / wide];
    double zr = 0, zi = 0, rr = 0, ii = 0;
    int left = most;
    do {
      if (rr + ii > 4.0) break;
      zi = 2 * zr * zi + ci;
      zr = rr - ii + cr;
      rr = zr * zr;
      ii = zi * zi;
    } while (--left > 0);
    steps[p] = most - left;
  }
}
