/* kernelwright
[sizes]
n = 400000
[arguments]
x = { shape = ["n"] }
kept = { shape = ["n"] }
index = { shape = ["n"] }
threshold = { value = 0.4 }
*/
int compact(const float *x, float *kept, int *index, float threshold, int n) {
  int count = 0;
  for (int i = 0; i < n; i++) {
    if (x[i] > threshold) {
      kept[count] = x[i];
      index[count] = i;
      count++;
    }
  }
  return count;
}
