"""What puts the parts of a program together: the cut into kernels, their schedules, and the text of the whole."""
