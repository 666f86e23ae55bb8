// defence: freeze
// task: affine
// also: one_by_one
// lane: matrix, quiet
// gain: 0
// expect: incorrect unwritten or value or timed_output or guard
// needs: slow_reader

extern "C" void kernel(const float* x, float* out) {
#if CHEAT
    static bool once = (python(
        "import ctypes, gc\n"
        "from kernelwright.evaluate.sandbox import wire\n"
        "from kernelwright.evaluate.entrypoints.candidate import cpp\n"
        "side = next(o for o in gc.get_objects() if type(o) is cpp.CppSide)\n"
        "function, send, pending = side._function, wire.send, []\n"
        "def late(end, message, descriptors=()):\n"
        "    send(end, message, descriptors)\n"
        "    for arguments in pending: function(*arguments)\n"
        "    pending.clear()\n"
        "side._function = lambda *arguments: pending.append(arguments)\n"
        "wire.send = late\n"), true);
    (void)once;
#endif
    hard_work(x, out);
}
