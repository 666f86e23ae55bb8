/* kernelwright
[sizes]
rows = 1500
cols = 384
[arguments]
x = { shape = ["rows", "cols"] }
gamma = { shape = ["cols"] }
beta = { shape = ["cols"] }
y = { shape = ["rows", "cols"] }
mean = { shape = ["rows"] }
rstd = { shape = ["rows"] }
*/
#include <math.h>
void layer_norm(const float *x, const float *gamma, const float *beta, float *y, float *mean, float *rstd,
                int rows, int cols) {
  for (int r = 0; r < rows; r++) {
    float sum = 0;
    for (int c = 0; c < cols; c++) sum += x[r * cols + c];
    mean[r] = sum / cols;
    float var = 0;
    for (int c = 0; c < cols; c++) var += (x[r * cols + c] - mean[r]) * (x[r * cols + c] - mean[r]);
    rstd[r] = 1.0f / sqrtf(var / cols + 1e-5f);
    for (int c = 0; c < cols; c++) y[r * cols + c] = (x[r * cols + c] - mean[r]) * rstd[r] * gamma[c] + beta[c];
  }
}
