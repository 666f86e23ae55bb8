/* kernelwright
[sizes]
n = 900
k = 6
d = 4
[arguments]
p = { shape = ["n","d"] }
c = { shape = ["k","d"] }
label = { shape = ["n"] }
sum = { shape = ["k","d"] }
count = { shape = ["k"] }
*/
#include <float.h>
void assign(const float *p, const float *c, int *label, float *sum, int *count, int n, int k, int d) {
  const float *q = p;
  int i = 0;
  while (i != n) {
    float best = FLT_MAX;
    for (int j = k - 1; j >= 0; --j) {
      float dist = 0;
      for (int e = 0; e < d; e++) { float t = q[e] - c[j * d + e]; dist += t * t; }
      if (dist <= best) { label[i] = j; best = dist; }
    }
    q += d;
    ++i;
  }
  for (int j = 0; j < k; j++) {
    int have = 0;
    for (i = 0; i < n; i++) if (label[i] == j) have++;
    count[j] = have;
    for (int e = 0; e < d; e++) {
      float s = 0;
      for (i = 0; i < n; i++) if (label[i] == j) s += p[i * d + e];
      sum[j * d + e] = s;
    }
  }
}
