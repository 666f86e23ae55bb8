/* kernelwright
[sizes]
n = 70
sweeps = 2
[arguments]
a = { shape = ["n", "n"], values = "uniform", inout = true }
*/
void relax(int n, int sweeps, float *a) {
  for (int t = 0; t < sweeps; t++)
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < n - 1; j++)
        a[i * n + j] = 0.25f * (a[(i - 1) * n + j] + a[i * n + j - 1] + a[i * n + j + 1] + a[(i + 1) * n + j]);
}
