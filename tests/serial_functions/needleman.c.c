/* kernelwright
[sizes]
len1 = 1000
len2 = 1200
[arguments]
seq1 = { shape = ["len1"], values = "index", bound = 4 }
seq2 = { shape = ["len2"], values = "index", bound = 4 }
F = { shape = ["len1 + 1", "len2 + 1"] }
*/
#define GAP 2
#define MAX(a, b) ((a) > (b) ? (a) : (b))
static const int similar[4][4] = {{3, -1, -1, -1}, {-1, 3, -1, -1}, {-1, -1, 3, -1}, {-1, -1, -1, 3}};

static int best_of(int diagonal, int up, int left, int x, int y) {
  return MAX(diagonal + similar[x][y], MAX(up, left) - GAP);
}

void nw(const int *seq1, const int *seq2, int *F, int len1, int len2) {
  for (int j = 1; j <= len2; j++) F[j] = F[j - 1] - GAP;
  int *above = F, *row = F + (len2 + 1);
  for (int i = 1; i <= len1; i++) {
    row[0] = above[0] - GAP;
    for (int j = 1; j <= len2; j++) row[j] = best_of(above[j - 1], above[j], row[j - 1], seq1[i - 1], seq2[j - 1]);
    above = row;
    row += len2 + 1;
  }
}
