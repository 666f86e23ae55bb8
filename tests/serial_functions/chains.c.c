/* kernelwright
[sizes]
n = 30000
heads = 5000
[arguments]
head = { shape = ["heads"], values = "index", bound = "n" }
next = { shape = ["n"], values = "index", bound = "n" }
worth = { shape = ["n"], values = "uniform" }
total = { shape = ["heads"] }
*/
void chains(const int *head, const int *next, const float *worth, float *total, int n, int heads) {
  const int *e = head + heads, z = n / 50;
  for (; head < e; ++head, ++total) {
    int a = *head, c = 100;
    for (*total = 0; c && a > z; a = *(next + a), --c) *total += *(worth + a);
  }
}
