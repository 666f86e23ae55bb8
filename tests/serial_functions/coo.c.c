/* kernelwright
[sizes]
nnz = 3000
n = 200
[arguments]
m_row = { shape = ["nnz"], out = false, values = "index", bound = "n" }
m_col = { shape = ["nnz"], out = false, values = "index", bound = "n" }
m_val = { shape = ["nnz"], out = false }
m_nnz = { value = "nnz" }
x = { shape = ["n"] }
y = { shape = ["n"] }
*/
typedef float real;
struct triplets { int *row; int *col; real *val; int nnz; };
void multiply(const struct triplets *m, const real *x, real *y) {
  int left = m->nnz, k = 0;
  while (left--) { y[m->row[k]] += m->val[k] * x[m->col[k]]; k++; }
}
