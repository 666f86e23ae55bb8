/* kernelwright
[sizes]
rows = 1000
cols = 1200
[arguments]
down = { shape = ["rows"], values = "index", bound = 4 }
across = { shape = ["cols"], values = "index", bound = 4 }
table = { shape = ["rows + 1", "cols + 1"] }
loss = { value = 2 }
*/
/* by diagonals: all of one diagonal need only the two before it */
void align_diagonals(const int *down, const int *across, int *table, int loss, int rows, int cols) {
  const int wide = cols + 1;
  int k = 0;
  while (k <= cols) { table[k] = -loss * k; k++; }
  k = 1;
  while (k <= rows) { table[k * wide] = -loss * k; k++; }
  for (int d = 2; d <= rows + cols; d++) {
    int i = d - cols > 1 ? d - cols : 1;
    const int last = d - 1 < rows ? d - 1 : rows;
    for (; i <= last; i++) {
      const int j = d - i;
      const int same = table[(i - 1) * wide + (j - 1)] + (down[i - 1] == across[j - 1] ? 3 : -1);
      const int up = table[(i - 1) * wide + j] - loss;
      const int left = table[i * wide + (j - 1)] - loss;
      const int two = up > left ? up : left;
      table[i * wide + j] = same > two ? same : two;
    }
  }
}
