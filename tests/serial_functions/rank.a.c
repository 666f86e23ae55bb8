/* kernelwright
[sizes]
n = 300
[arguments]
x = { shape = ["n"] }
y = { shape = ["n"] }
*/
void rank_sort(const float *x, float *y, int n) {
  for (int i = 0; i < n; i++) {
    int r = 0;
    for (int j = 0; j < n; j++) r += x[j] < x[i] || (x[j] == x[i] && j < i);
    y[r] = x[i];
  }
}
