/* kernelwright
[sizes]
n = 30000
heads = 5000
[arguments]
head = { shape = ["heads"], values = "index", bound = "n" }
next = { shape = ["n"], values = "index", bound = "n" }
worth = { shape = ["n"], values = "uniform" }
total = { shape = ["heads"] }
*/
class Walker {
  const int *next_;
  int at_, left_;
 public:
  Walker(const int *next, int from) : next_(next), at_(from), left_(100) {}
  bool alive(int end) const { return at_ > end && left_ > 0; }
  int where() const { return at_; }
  void step() { at_ = next_[at_]; --left_; }
};
void chains(const int *head, const int *next, const float *worth, float *total, int n, int heads) {
  for (int h = 0; h < heads; ++h) {
    float sum = 0;
    for (Walker w(next, head[h]); w.alive(n / 50); w.step()) sum += worth[w.where()];
    total[h] = sum;
  }
}
