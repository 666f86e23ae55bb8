"""The referee: the only place where untrusted code is compiled, run, compared and timed."""
