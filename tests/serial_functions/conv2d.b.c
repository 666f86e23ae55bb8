/* kernelwright
[sizes]
rows = 480
cols = 640
half = 2
[arguments]
picture = { shape = ["rows", "cols"] }
taps = { shape = ["2 * half + 1", "2 * half + 1"] }
filtered = { shape = ["rows", "cols"] }
*/
void filter_clamped(const float *restrict picture, const float *restrict taps, float *restrict filtered,
                    int rows, int cols, int half) {
  float *dst = filtered;
  int row = 0;
  while (row < rows) {
    int col = 0;
    while (col < cols) {
      const float *tap = taps;
      float acc = 0;
      int i = row - half;
      do {
        int from = i < 0 ? 0 : i > rows - 1 ? rows - 1 : i;
        const float *line = picture + (long)from * cols;
        int j = col - half;
        do {
          acc += *tap++ * line[j < 0 ? 0 : j > cols - 1 ? cols - 1 : j];
        } while (++j <= col + half);
      } while (++i <= row + half);
      *dst++ = acc;
      col++;
    }
    row++;
  }
}
