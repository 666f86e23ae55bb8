/* kernelwright
[sizes]
n = 3000
[arguments]
x = { shape = ["n"] }
out = { shape = [1] }
*/
void any(const float *x, int *out, int n) {
  int found = 0;
  for (int i = 0; i < n; i++) found = found || x[i] < -3.0f;
  out[0] = found;
}
