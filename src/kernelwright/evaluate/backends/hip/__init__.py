"""AMD GPUs, which are not driven yet: kernels are compiled for them and verified by an interpreter."""
