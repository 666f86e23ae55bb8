/* kernelwright
[sizes]
n = 64
steps = 4
[arguments]
A = { shape = ["n", "n", "n"], inout = true }
B = { shape = ["n", "n", "n"], inout = true }
*/
void heat3d(int n, int steps, double A[n][n][n], double B[n][n][n]) {
  for (int t = 0; t < steps; t++) {
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < n - 1; j++)
        for (int k = 1; k < n - 1; k++)
          B[i][j][k] = A[i][j][k] + 0.1 * (A[i + 1][j][k] + A[i - 1][j][k] + A[i][j + 1][k] + A[i][j - 1][k] +
                                           A[i][j][k + 1] + A[i][j][k - 1] - 6.0 * A[i][j][k]);
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < n - 1; j++)
        for (int k = 1; k < n - 1; k++)
          A[i][j][k] = B[i][j][k] + 0.1 * (B[i + 1][j][k] + B[i - 1][j][k] + B[i][j + 1][k] + B[i][j - 1][k] +
                                           B[i][j][k + 1] + B[i][j][k - 1] - 6.0 * B[i][j][k]);
  }
}
