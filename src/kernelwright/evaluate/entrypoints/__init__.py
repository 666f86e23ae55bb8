"""What runs inside a candidate process: one module a kind of contestant, all speaking the same few commands."""
