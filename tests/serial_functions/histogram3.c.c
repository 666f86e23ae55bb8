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
  int z = 256;
  while (z--) red[z] = green[z] = blue[z] = 0;
  bright[0] = z + 1;
  const int *p = rgb, *stop = rgb + 3 * (long)pixels;
  while (p < stop) {
    int a = *p++;
    int b = *p++;
    int c = *p++;
    ++*(red + a);
    ++*(green + b);
    ++*(blue + c);
    *bright += a + b + c > 600;
  }
}
