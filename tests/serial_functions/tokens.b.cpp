/* kernelwright
[sizes]
lines = 600
wide = 80
[arguments]
text = { shape = ["lines", "wide"], values = "index", bound = 40 }
words = { shape = ["lines"] }
numbers = { shape = ["lines"] }
*/
enum class State { between, word, number };
struct Machine {
  State state = State::between;
  int words = 0, numbers = 0;
  void feed(int ch) {
    if (ch >= 36) {
      state = State::between;
    } else if (ch < 26) {
      if (state == State::number) --numbers;
      if (state != State::word) ++words;
      state = State::word;
    } else if (state == State::between) {
      ++numbers;
      state = State::number;
    }
  }
};
void tokens(int lines, int wide, const int *text, int *words, int *numbers) {
  for (int l = 0; l < lines; ++l) {
    Machine machine;
    for (int c = 0; c < wide; ++c) machine.feed(text[l * wide + c]);
    words[l] = machine.words;
    numbers[l] = machine.numbers;
  }
}
