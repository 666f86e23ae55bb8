/* kernelwright
[sizes]
rows = 500
cols = 400
[arguments]
table = { shape = ["rows", "cols"] }
limit = { value = 2.2 }
found = { shape = ["rows"] }
*/
void first_above(int rows, int cols, const float *table, float limit, int *found) {
  for (int i = 0; i < rows; i++) {
    found[i] = -1;
    for (int j = 0; j < cols; j++) {
      if (table[i * cols + j] > limit) {
        found[i] = j;
        break;
      }
    }
  }
}
