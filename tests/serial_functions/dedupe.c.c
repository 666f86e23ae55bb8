/* kernelwright
[sizes]
n = 50000
[arguments]
x = { shape = ["n"], values = "index", bound = 3 }
out = { shape = ["n"] }
many = { shape = [1] }
*/
void dedupe(const int *x, int n, int *out, int *many) {
  int *w = out;
  const int *r = x, *z = x + n;
  *w++ = *r++;
  while (r < z) {
    if (r[-1] ^ *r) *w++ = *r;
    r++;
  }
  *many = w - out;
}
