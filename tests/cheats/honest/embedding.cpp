extern "C" void copied(const float* table, const int64_t* rows, float* out) {
    for (int i = 0; i < 35; ++i) std::memcpy(out + i * 12, table + rows[i] * 12, 48);
}
