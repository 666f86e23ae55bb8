/* kernelwright
[sizes]
h = 512
w = 512
[arguments]
img = { shape = ["h", "w"], values = "index", bound = 256 }
out = { shape = ["h", "w"] }
*/
void median3(const unsigned char *img, unsigned char *out, int h, int w) {
  for (int y = 0; y < h; y++) {
    for (int x = 0; x < w; x++) {
      if (y == 0 || x == 0 || y == h - 1 || x == w - 1) {
        out[y * w + x] = img[y * w + x];
        continue;
      }
      unsigned char v[9];
      int n = 0;
      for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++) v[n++] = img[(y + dy) * w + x + dx];
      for (int i = 1; i < 9; i++) {
        unsigned char key = v[i];
        int j = i - 1;
        while (j >= 0 && v[j] > key) {
          v[j + 1] = v[j];
          j--;
        }
        v[j + 1] = key;
      }
      out[y * w + x] = v[4];
    }
  }
}
