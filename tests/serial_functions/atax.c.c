/* kernelwright
[sizes]
m = 70
n = 90
[arguments]
A = { shape = [70, 90], out = false }
v = { shape = [90], out = false }
w = { shape = [90] }
tmp = { shape = [70] }
*/
#define ROWS 70
#define COLS 90
void product(float A[ROWS][COLS], float v[COLS], float w[COLS], float tmp[ROWS]) {
  int r = 0, c;
  for (c = COLS - 1; c >= 0; c--) w[c] = 0.0f;
  while (r < ROWS) {
    float *row = A[r];
    tmp[r] = 0.0f;
    for (c = 0; c < COLS; c++) tmp[r] += *(row + c) * v[c];
    r++;
  }
  for (r = 0; r < ROWS; r++)
    for (c = 0; c < COLS; c++) w[c] += A[r][c] * tmp[r];
}
