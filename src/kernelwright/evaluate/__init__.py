"""The referee: the only place where foreign code is compiled, run, compared and timed."""
