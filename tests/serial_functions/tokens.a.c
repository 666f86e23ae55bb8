/* kernelwright
[sizes]
lines = 600
wide = 80
[arguments]
text = { shape = ["lines", "wide"], values = "index", bound = 40 }
words = { shape = ["lines"] }
numbers = { shape = ["lines"] }
*/
void tokens(int lines, int wide, const int *text, int *words, int *numbers) {
  for (int l = 0; l < lines; l++) {
    int state = 0, w = 0, d = 0;
    for (int c = 0; c < wide; c++) {
      int ch = text[l * wide + c];
      switch (state) {
        case 0:
          if (ch < 26) { state = 1; w++; }
          else if (ch < 36) { state = 2; d++; }
          break;
        case 1:
          if (ch >= 36) state = 0;
          break;
        default:
          if (ch >= 36) state = 0;
          else if (ch < 26) { state = 1; w++; d--; }
      }
    }
    words[l] = w;
    numbers[l] = d;
  }
}
