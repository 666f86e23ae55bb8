/* kernelwright
[sizes]
q = 150
n = 300
[arguments]
a = { shape = ["q", 2] }
b = { shape = ["n", 2] }
nearest = { shape = ["q", 4] }
*/
#define KNN 4
void knn_insert(const float *a, const float *b, int *nearest, int q, int n) {
  for (int i = 0; i < q; i++) {
    float d[KNN];
    int id[KNN];
    for (int k = 0; k < KNN; k++) { d[k] = 1e30f; id[k] = -1; }
    for (int j = 0; j < n; j++) {
      float dx = a[2 * i] - b[2 * j], dy = a[2 * i + 1] - b[2 * j + 1], dd = dx * dx + dy * dy;
      int k = KNN - 1;
      if (dd >= d[k]) continue;
      while (k > 0 && d[k - 1] > dd) { d[k] = d[k - 1]; id[k] = id[k - 1]; k--; }
      d[k] = dd;
      id[k] = j;
    }
    for (int k = 0; k < KNN; k++) nearest[i * KNN + k] = id[k];
  }
}
