"""The door for programs: what `import kernelwright as kw` offers, each name loaded when it is first used."""
