/* kernelwright
[sizes]
pixels = 60000
[arguments]
rgb = { shape = ["pixels", 3], values = "index", bound = 256 }
red = { shape = [256] }
green = { shape = [256] }
blue = { shape = [256] }
bright = { shape = [1] }
*/
void colours(const int *rgb, int pixels, int *red, int *green, int *blue, long *bright) {
  for (int i = 0; i < 256; i++) {
    red[i] = 0;
    green[i] = 0;
    blue[i] = 0;
  }
  *bright = 0;
  for (int i = 0; i < pixels; i++) {
    red[rgb[3 * i]]++;
    green[rgb[3 * i + 1]]++;
    blue[rgb[3 * i + 2]]++;
    if (rgb[3 * i] + rgb[3 * i + 1] + rgb[3 * i + 2] > 600) ++*bright;
  }
}
