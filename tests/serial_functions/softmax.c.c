/* kernelwright
[sizes]
rows = 40
cols = 70
[arguments]
x = { shape = [40, 70], out = false }
y = { shape = [40, 70] }
*/
#include <math.h>
#define R 40
#define C 70
void rows_softmax(float x[R][C], float y[R][C]) {
  float e[C];
  for (int i = 0; i < R; i++) {
    float m = -INFINITY, s = 0;
    for (int j = 0; j < C; j++) m = x[i][j] > m ? x[i][j] : m;
    for (int j = 0; j < C; j++) e[j] = expf(x[i][j] - m);
    for (int j = 0; j < C; j++) s += e[j];
    for (int j = 0; j < C; j++) y[i][j] = e[j] / s;
  }
}
