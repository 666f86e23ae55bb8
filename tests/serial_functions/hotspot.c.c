/* kernelwright
[sizes]
rows = 48
cols = 40
[arguments]
T0 = { shape = ["rows","cols"] }
P = { shape = ["rows","cols"] }
T1 = { shape = ["rows","cols"] }
*/
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define AT(i, j) T0[MIN(MAX(i, 0), rows - 1) * cols + MIN(MAX(j, 0), cols - 1)]
void step(const float *T0, const float *P, float *T1, int rows, int cols) {
  int cell = 0;
  while (cell < rows * cols) {
    int i = cell / cols, j = cell % cols;
    float t = AT(i, j);
    T1[cell] = t + 0.01f * (P[cell] + 0.1f * (AT(i - 1, j) + AT(i + 1, j) - 2 * t) + 0.2f * (AT(i, j - 1) + AT(i, j + 1) - 2 * t) + 0.05f * (80.0f - t));
    cell++;
  }
}
