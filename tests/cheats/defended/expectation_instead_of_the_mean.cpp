// The mean square of 65536 normal numbers is one, near enough; nothing is read.
// task: power
// expect: incorrect value

extern "C" void kernel(const float*, float* out) { *out = 1; }
