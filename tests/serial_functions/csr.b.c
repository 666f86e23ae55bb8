/* kernelwright
[sizes]
m = 40000
n = 30000
stored = 600000
[arguments]
first = { shape = ["m"], values = "index", bound = "stored - 32" }
length = { shape = ["m"], values = "index", bound = 32 }
where = { shape = ["stored"], values = "index", bound = "n" }
entry = { shape = ["stored"] }
in = { shape = ["n"] }
out = { shape = ["m"], inout = true }
a = { value = 1.25 }
b = { value = -0.5 }
*/
void sparse_update(const int *first, const int *length, const int *where, const double *entry, const double *in,
                   double *out, double a, double b, int m) {
  int row = m;
  while (row-- > 0) {
    const int *w = where + first[row];
    const double *e = entry + first[row], *stop = e + length[row];
    out[row] *= b;
    double acc = 0;
    while (e != stop) acc += *e++ * in[*w++];
    out[row] += a * acc;
  }
}
