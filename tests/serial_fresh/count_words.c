/* kernelwright
[sizes]
n = 20000
[arguments]
s = { shape = ["n"], values = "index", bound = 128 }
words = { shape = [1] }
*/
static int is_space(int c) { return c == ' ' || (c >= 9 && c <= 13); }
void count_words(const int *s, int *words, int n) {
  int total = 0;
  for (int i = 0; i < n; i++)
    if (!is_space(s[i]) && (i == 0 || is_space(s[i - 1]))) total++;
  *words = total;
}
