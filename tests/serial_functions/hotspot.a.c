/* kernelwright
[sizes]
rows = 48
cols = 40
[arguments]
temp = { shape = ["rows","cols"] }
power = { shape = ["rows","cols"] }
out = { shape = ["rows","cols"] }
*/
void hotspot(const float *temp, const float *power, float *out, int rows, int cols) {
  for (int r = 0; r < rows; r++)
    for (int c = 0; c < cols; c++) {
      int up = r == 0 ? 0 : r - 1, down = r == rows - 1 ? r : r + 1;
      int left = c == 0 ? 0 : c - 1, right = c == cols - 1 ? c : c + 1;
      float t = temp[r * cols + c];
      float d = power[r * cols + c] + 0.1f * (temp[up * cols + c] + temp[down * cols + c] - 2 * t)
              + 0.2f * (temp[r * cols + left] + temp[r * cols + right] - 2 * t) + 0.05f * (80.0f - t);
      out[r * cols + c] = t + 0.01f * d;
    }
}
