/* kernelwright
[sizes]
n = 30000
[arguments]
a = { shape = ["n"], values = "index", bound = 5000 }
at = { shape = [1] }
*/
void last_hit(const int *a, int *at, int n) {
  int k = -1;
  for (int i = 0; i < n; i++)
    if (a[i] == 77) k = i;
  at[0] = k;
}
