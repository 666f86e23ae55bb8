/* kernelwright
[sizes]
r = 12
q = 14
p = 20
[arguments]
A = { shape = ["r","q","p"], inout = true }
C = { shape = ["p","p"] }
*/
void doitgen(int r, int q, int p, float *A, const float *C) {
  float sum[20];
  for (int i = 0; i < r; i++)
    for (int j = 0; j < q; j++) {
      for (int k = 0; k < p; k++) {
        sum[k] = 0;
        for (int s = 0; s < p; s++) sum[k] += A[(i * q + j) * p + s] * C[s * p + k];
      }
      for (int k = 0; k < p; k++) A[(i * q + j) * p + k] = sum[k];
    }
}
