/* kernelwright
[sizes]
n = 80
[arguments]
A = { shape = ["n","n"], out = false }
B = { shape = ["n","n"], out = false }
x = { shape = ["n"], out = false }
y = { shape = ["n"] }
al = { value = 1.5 }
be = { value = 0.7 }
*/
#define AT(M, r, c) M[(r) * n + (c)]
static float row_dot(float *M, float *x, int r, int n) {
  float s = 0;
  int j = 0;
  while (j < n) { s += AT(M, r, j) * x[j]; j += 1; }
  return s;
}
void combine(float *A, float *B, float *x, float *y, float al, float be, int n) {
  int r;
  for (r = n - 1; r > -1; r--) y[r] = al * row_dot(A, x, r, n) + be * row_dot(B, x, r, n);
}
