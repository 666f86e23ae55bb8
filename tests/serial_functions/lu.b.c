/* kernelwright
[sizes]
dim = 220
[arguments]
m = { shape = ["dim * dim"], values = "uniform", inout = true }
lift = { value = 220.0 }
*/
void factor(double *m, int dim, double lift) {
  double *diagonal = m;
  int left = dim;
  while (left--) {
    *diagonal += lift;
    diagonal += dim + 1;
  }
  int step = 0;
  while (step < dim - 1) {
    double *pivot_row = m + step * dim;
    const double inverse = 1.0 / pivot_row[step];
    int r = dim - 1;
    while (r > step) {
      m[r * dim + step] *= inverse;
      --r;
    }
    for (r = step + 1; r < dim; ++r) {
      double *row = m + r * dim;
      const double times = row[step];
      int c = step + 1;
      do row[c] -= times * pivot_row[c];
      while (++c < dim);
    }
    ++step;
  }
}
