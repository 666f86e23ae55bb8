"""A cluster that is only counted: a clock that nobody waits for, and workers whose jobs take recorded times."""
