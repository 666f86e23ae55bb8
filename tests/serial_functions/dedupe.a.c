/* kernelwright
[sizes]
n = 50000
[arguments]
x = { shape = ["n"], values = "index", bound = 3 }
out = { shape = ["n"] }
many = { shape = [1] }
*/
void dedupe(const int *x, int n, int *out, int *many) {
  int count = 0;
  for (int i = 0; i < n; i++) {
    if (i == 0 || x[i] != x[i - 1]) {
      out[count] = x[i];
      count++;
    }
  }
  many[0] = count;
}
