/* kernelwright
[sizes]
m_rows = 40000
cols = 30000
nnz = 600000
[arguments]
m_begin = { shape = ["m_rows"], values = "index", bound = "nnz - 32" }
m_count = { shape = ["m_rows"], values = "index", bound = 32 }
m_col = { shape = ["nnz"], values = "index", bound = "cols" }
m_val = { shape = ["nnz"] }
x = { shape = ["cols"] }
y = { shape = ["m_rows"], inout = true }
alpha = { value = 1.25 }
beta = { value = -0.5 }
*/
struct csr {
  const int *begin;
  const int *count;
  const int *col;
  const double *val;
  int rows;
};

static inline double row_times(const struct csr *m, int i, const double *x) {
  double sum = 0.0;
  const int from = m->begin[i];
  for (int k = 0; k < m->count[i]; k++) {
    if (m->val[from + k] == 0.0) continue;
    sum += m->val[from + k] * x[m->col[from + k]];
  }
  return sum;
}

void csr_gemv(const struct csr *m, const double *x, double *y, double alpha, double beta) {
  for (int i = 0; i < m->rows; i++) {
    y[i] = alpha * row_times(m, i, x) + beta * y[i];
  }
}
