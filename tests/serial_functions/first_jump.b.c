/* kernelwright
[sizes]
len = 1000000
[arguments]
signal = { shape = ["len"] }
step = { value = 6.3 }
where = { shape = [1] }
*/
void find_step(const float *signal, float step, int len, int *where) {
  int at = 1;
  while (at < len && signal[at] - signal[at - 1] <= step && signal[at - 1] - signal[at] <= step) at++;
  *where = at < len ? at : -1;
}
