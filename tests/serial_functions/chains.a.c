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
  for (int h = 0; h < heads; h++) {
    float sum = 0;
    int at = head[h], steps = 0;
    while (at > n / 50 && steps < 100) {
      sum += worth[at];
      at = next[at];
      steps++;
    }
    total[h] = sum;
  }
}
