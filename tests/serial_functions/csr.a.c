/* kernelwright
[sizes]
rows = 40000
cols = 30000
nnz = 600000
longest = 32
[arguments]
begin = { shape = ["rows"], values = "index", bound = "nnz - longest" }
count = { shape = ["rows"], values = "index", bound = "longest" }
col = { shape = ["nnz"], values = "index", bound = "cols" }
val = { shape = ["nnz"] }
x = { shape = ["cols"] }
y = { shape = ["rows"], inout = true }
alpha = { value = 1.25 }
beta = { value = -0.5 }
*/
void spmv(const int *begin, const int *count, const int *col, const double *val, const double *x, double *y,
          double alpha, double beta, int rows) {
  for (int i = 0; i < rows; i++) {
    double sum = 0.0;
    for (int k = begin[i]; k < begin[i] + count[i]; k++) sum += val[k] * x[col[k]];
    y[i] = alpha * sum + beta * y[i];
  }
}
