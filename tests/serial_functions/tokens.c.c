/* kernelwright
[sizes]
lines = 600
wide = 80
[arguments]
text = { shape = ["lines", "wide"], values = "index", bound = 40 }
words = { shape = ["lines"] }
numbers = { shape = ["lines"] }
*/
#define KIND(c) ((c) < 26 ? 1 : (c) < 36 ? 2 : 0)
void tokens(int lines, int wide, const int *text, int *words, int *numbers) {
  static const int go[3][3] = {{0, 1, 2}, {0, 1, 1}, {0, 1, 2}};
  const int *t = text;
  for (int l = lines; l--; words++, numbers++) {
    int s = 0;
    *words = *numbers = 0;
    for (int c = 0; c < wide; c++) {
      int was = s, ch = *t++, k = KIND(ch);
      s = go[was][k];
      *words += was != 1 && s == 1;
      *numbers += was == 0 && s == 2;
      *numbers -= was == 2 && s == 1;
    }
  }
}
