/* kernelwright
[sizes]
n = 1000000
[arguments]
data = { shape = ["n"], values = "index", bound = 256 }
sums = { shape = [2] }
*/
void adler(const unsigned char *data, long *sums, int n) {
  unsigned a = 1, b = 0;
  for (int i = 0; i < n; i++) {
    a = (a + data[i]) % 65521;
    b = (b + a) % 65521;
  }
  sums[0] = a;
  sums[1] = b;
}
