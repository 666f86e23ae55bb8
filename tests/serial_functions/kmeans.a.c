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
void kmeans(const float *p, const float *c, int *label, float *sum, int *count, int n, int k, int d) {
  for (int i = 0; i < n; i++) {
    float best = 1e30f;
    int at = 0;
    for (int j = 0; j < k; j++) {
      float dist = 0;
      for (int e = 0; e < d; e++) dist += (p[i * d + e] - c[j * d + e]) * (p[i * d + e] - c[j * d + e]);
      if (dist < best) { best = dist; at = j; }
    }
    label[i] = at;
  }
  for (int i = 0; i < n; i++) {
    count[label[i]]++;
    for (int e = 0; e < d; e++) sum[label[i] * d + e] += p[i * d + e];
  }
}
