/* kernelwright
[sizes]
n = 600
steps = 9
[arguments]
a = { shape = ["n"], inout = true }
b = { shape = ["n"], inout = true }
*/
void jacobi1d(int steps, int n, float *a, float *b) {
  for (int t = 0; t < steps; t++) {
    for (int i = 1; i < n - 1; i++) b[i] = 0.33333f * (a[i - 1] + a[i] + a[i + 1]);
    for (int i = 1; i < n - 1; i++) a[i] = 0.33333f * (b[i - 1] + b[i] + b[i + 1]);
  }
}
