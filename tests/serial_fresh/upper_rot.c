/* kernelwright
[sizes]
n = 20000
[arguments]
in = { shape = ["n"], values = "index", bound = 128 }
out = { shape = ["n"] }
*/
void upper_rot13(const int *in, int *out, int n) {
  for (int i = 0; i < n; i++) {
    int c = in[i];
    switch (c >> 5) {
      case 2:
        if (c >= 'A' && c <= 'Z') c = 'A' + (c - 'A' + 13) % 26;
        break;
      case 3:
        if (c >= 'a' && c <= 'z') c = 'A' + (c - 'a' + 13) % 26;
        break;
      default:
        c = '.';
    }
    out[i] = c;
  }
}
