"""The notebook of the examples, executed as it stands: a real search and a real verdict, in a kernel's running event loop."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[2] / "examples" / "quickstart.ipynb"


def shown(cell):
    """The text of a cell's outputs."""
    return "\n".join(o.get("text") or o["data"]["text/plain"] for o in cell.outputs if o.output_type != "error")


def test_it_is_stored_without_outputs():
    cells = [cell for cell in nbformat.read(NOTEBOOK, as_version=4).cells if cell.cell_type == "code"]
    assert all(not cell.outputs and cell.execution_count is None for cell in cells)


@pytest.mark.quiet
@pytest.mark.matrix
def test_every_cell_does_what_it_says(tmp_path):
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(notebook, timeout=280, resources={"metadata": {"path": str(tmp_path)}}).execute()
    found, kernel, verdict = (shown(cell) for cell in notebook.cells if cell.cell_type == "code" and cell.outputs)
    assert "RMSNorm on cpu" in found
    assert "best: cpp" in found
    assert 'extern "C"' in kernel
    assert verdict.startswith("incorrect -4.0 ")
    table = next(o for cell in notebook.cells for o in cell.get("outputs", ()) if "text/html" in o.get("data", {}))
    assert "against torch.compile" in table["data"]["text/html"]
    assert len(list(tmp_path.glob("runs/*/report.html"))) == 1
