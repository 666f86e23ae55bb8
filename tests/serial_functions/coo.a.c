/* kernelwright
[sizes]
nnz = 3000
n = 200
[arguments]
row = { shape = ["nnz"], values = "index", bound = "n" }
col = { shape = ["nnz"], values = "index", bound = "n" }
val = { shape = ["nnz"] }
x = { shape = ["n"] }
y = { shape = ["n"] }
*/
void coo(const int *row, const int *col, const float *val, const float *x, float *y, int nnz, int n) {
  for (int i = 0; i < n; i++) y[i] = 0;
  for (int k = 0; k < nnz; k++) y[row[k]] += val[k] * x[col[k]];
}
