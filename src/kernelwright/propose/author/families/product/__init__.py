"""Products of matrices and what are such in disguise, as tiles on the tensor cores."""
