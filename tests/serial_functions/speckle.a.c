/* kernelwright
[sizes]
rows = 150
cols = 170
turns = 2
[arguments]
image = { shape = ["rows", "cols"], values = "positive", inout = true }
work = { shape = ["rows", "cols"] }
lambda_ = { value = 0.5 }
*/
void speckle(float *image, float *work, int rows, int cols, int turns, float lambda_) {
  for (int t = 0; t < turns; t++) {
    float sum = 0, squares = 0;
    for (int i = 0; i < rows; i++)
      for (int j = 0; j < cols; j++) {
        float v = image[i * cols + j];
        sum += v;
        squares += v * v;
      }
    float mean = sum / (rows * cols);
    float q0 = (squares / (rows * cols) - mean * mean) / (mean * mean);
    for (int i = 0; i < rows; i++)
      for (int j = 0; j < cols; j++) {
        int up = i > 0 ? i - 1 : 0, down = i < rows - 1 ? i + 1 : rows - 1;
        int left = j > 0 ? j - 1 : 0, right = j < cols - 1 ? j + 1 : cols - 1;
        float c = image[i * cols + j];
        float l = image[up * cols + j] + image[down * cols + j] + image[i * cols + left] + image[i * cols + right] - 4 * c;
        float q = l / c;
        float k = 1.0f / (1.0f + (q * q - q0) / (1.0f + q0));
        if (k < 0) k = 0;
        else if (k > 1) k = 1;
        work[i * cols + j] = k * l;
      }
    for (int i = 0; i < rows; i++)
      for (int j = 0; j < cols; j++) image[i * cols + j] += 0.25f * lambda_ * work[i * cols + j];
  }
}
