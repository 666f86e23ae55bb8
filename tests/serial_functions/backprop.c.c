/* kernelwright
[sizes]
n = 70
h = 30
[arguments]
x = { shape = ["n"], out = false }
net_w = { shape = ["h","n"], inout = true }
net_delta = { shape = ["h"], out = false }
net_out = { shape = ["h"] }
net_n = { value = "n" }
net_h = { value = "h" }
*/
#include <math.h>
typedef struct { float *w; float *delta; float *out; int n; int h; } net_t;
void update(net_t *net, float *x) {
  int j = net->h;
  while (j-- > 0) {
    float s = 0;
    const float *a = x;
    for (int i = 0; i < net->n; i++) s += net->w[j * net->n + i] * *a++;
    net->out[j] = 1.0f / (1.0f + expf(-s));
  }
  for (j = 0; j < net->h; j++)
    for (int i = 0; i < net->n; i++) net->w[j * net->n + i] += 0.3f * net->delta[j] * x[i];
}
