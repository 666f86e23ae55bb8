"""C++ for this machine's cores."""
