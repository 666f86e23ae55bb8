"""The kinds of devices that candidates are evaluated on. A folder a backend, a row of `table.py` each."""
