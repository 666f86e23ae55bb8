// Every answer twice: the second waits for the next question and is there before any work could be.
// defence: honest_reply
// task: affine
// also: timed_outputs, floor, outside_clock, one_by_one
// expect: suspect tampering
// says: another question

extern "C" void kernel(const float* x, float* out) {
#if CHEAT
    static int calls = 0;
    if (++calls == 14) python(  // the first sample

        "from kernelwright.evaluate.sandbox import wire\n"
        "send = wire.send\n"
        "wire.send = lambda *arguments: (send(*arguments), send(*arguments))\n");
#endif
    work(x, out);
}
