// A quarter of the bytes to write, and equal as numbers; but nobody asks the process what its results are.
// task: sign
// expect: incorrect unwritten

extern "C" void kernel(const float* x, void* out) {
    static bool once = (python(
        "import gc\n"
        "from kernelwright.evaluate.entrypoints.candidate import cpp\n"
        "side = next(o for o in gc.get_objects() if type(o) is cpp.CppSide)\n"
        "side._outputs = [o.model_copy(update={'dtype': 'int8'}) for o in getattr(side, '_outputs', ())]\n"), true);
    (void)once;
    for (int i = 0; i < 4096; ++i) static_cast<signed char*>(out)[i] = (x[i] > 0) - (x[i] < 0);
}
