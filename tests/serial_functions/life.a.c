/* kernelwright
[sizes]
h = 40
w = 60
steps = 4
[arguments]
a = { shape = ["h","w"], inout = true, values = "index", bound = 2 }
b = { shape = ["h","w"], inout = true, values = "index", bound = 2 }
*/
void life(int *a, int *b, int h, int w, int steps) {
  for (int t = 0; t < steps; t++) {
    for (int i = 0; i < h; i++)
      for (int j = 0; j < w; j++) {
        int n = 0;
        for (int di = -1; di <= 1; di++)
          for (int dj = -1; dj <= 1; dj++)
            if (di || dj) n += a[((i + di + h) % h) * w + (j + dj + w) % w];
        b[i * w + j] = n == 3 || (n == 2 && a[i * w + j]);
      }
    int *s = a;
    a = b;
    b = s;
  }
}
