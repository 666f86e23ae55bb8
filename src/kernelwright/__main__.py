"""`python -m kernelwright` is the command."""

from kernelwright.interfaces.cli.main import main

if __name__ == "__main__":
    main()
