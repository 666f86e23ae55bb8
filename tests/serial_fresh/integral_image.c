/* kernelwright
[sizes]
h = 100
w = 130
[arguments]
im = { shape = ["h", "w"], values = "index", bound = 256 }
sat = { shape = ["h", "w"] }
*/
void integral_image(int h, int w, const int im[h][w], int sat[h][w]) {
  for (int y = 0; y < h; y++) {
    int row = 0;
    for (int x = 0; x < w; x++) {
      row += im[y][x];
      sat[y][x] = row + (y ? sat[y - 1][x] : 0);
    }
  }
}
