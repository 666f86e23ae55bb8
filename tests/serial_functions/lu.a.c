/* kernelwright
[sizes]
n = 220
[arguments]
A = { shape = ["n", "n"], values = "uniform", inout = true }
shift = { value = 220.0 }
*/
void lu(int n, double A[n][n], double shift) {
  for (int i = 0; i < n; i++) A[i][i] += shift;
  for (int k = 0; k < n; k++) {
    for (int i = k + 1; i < n; i++) {
      A[i][k] /= A[k][k];
      for (int j = k + 1; j < n; j++) A[i][j] -= A[i][k] * A[k][j];
    }
  }
}
