/* kernelwright
[sizes]
n = 5000
[arguments]
steps = { shape = ["n"] }
longest = { shape = [2] }
*/
void collatz(int *steps, int *longest, int n) {
  int best = -1, where = -1;
  for (int i = 0; i < n; i++) {
    long long v = i + 1;
    int k = 0;
    while (v != 1) {
      v = (v & 1) ? 3 * v + 1 : v / 2;
      k++;
    }
    steps[i] = k;
    if (k > best) { best = k; where = i; }
  }
  longest[0] = best;
  longest[1] = where;
}
