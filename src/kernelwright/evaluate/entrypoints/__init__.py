"""What runs inside a candidate process: one module a kind of candidate process, all speaking the same few commands."""
