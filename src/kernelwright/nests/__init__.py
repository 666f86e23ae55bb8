"""Serial C and C++ functions as loop nests: their syntax, dependences, and rewritings. Pure functions over text."""
