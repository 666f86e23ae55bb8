/* kernelwright
[sizes]
n = 50000
[arguments]
x = { shape = ["n"], values = "index", bound = 3 }
out = { shape = ["n"] }
many = { shape = [1] }
*/
template <typename T> class Writer {
 public:
  explicit Writer(T *to) : to_(to) {}
  void push(const T &v) { to_[used_++] = v; }
  int used() const { return used_; }
 private:
  T *to_;
  int used_ = 0;
};
void dedupe(const int *x, int n, int *out, int *many) {
  Writer<int> writer(out);
  auto fresh = [x](int i) { return i == 0 || x[i] != x[i - 1]; };
  for (int i = 0; i < n; ++i)
    if (fresh(i)) writer.push(x[i]);
  *many = writer.used();
}
