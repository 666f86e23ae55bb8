"""The sandbox: warm parent, single-use candidate processes, namespaces, Landlock, limits."""
