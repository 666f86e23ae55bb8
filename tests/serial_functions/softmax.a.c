/* kernelwright
[sizes]
rows = 40
cols = 70
[arguments]
x = { shape = ["rows","cols"] }
y = { shape = ["rows","cols"] }
*/
#include <math.h>
void softmax(const float *x, float *y, int rows, int cols) {
  for (int i = 0; i < rows; i++) {
    float m = x[i * cols];
    for (int j = 1; j < cols; j++) if (x[i * cols + j] > m) m = x[i * cols + j];
    float s = 0;
    for (int j = 0; j < cols; j++) { y[i * cols + j] = expf(x[i * cols + j] - m); s += y[i * cols + j]; }
    for (int j = 0; j < cols; j++) y[i * cols + j] /= s;
  }
}
