"""The arguments and options that several verbs have. Words in braces are filled in by `main`."""

from pathlib import Path
from typing import Annotated, Literal

import typer

TaskFile = Annotated[
    Path, typer.Argument(metavar="TASK", help="The task: a file with Model and get_inputs.", show_default=False)
]
KernelFile = Annotated[Path, typer.Argument(metavar="KERNEL", help="The kernel: a {endings} file.", show_default=False)]
Run = Annotated[Path, typer.Argument(metavar="RUN", help="The run's folder.", show_default=False)]
Target = Annotated[str | None, typer.Option(help="{targets}. Default: the GPU if there is one, else cpu.")]
KernelTarget = Annotated[str | None, typer.Option(help="{targets}. Default: follows from the kernel's language.")]
Entry = Annotated[str | None, typer.Option(help="Name of the kernel's function. Default: the only one in the file.")]
WorkspaceBytes = Annotated[int, typer.Option(min=0, help="Bytes of scratch memory that the kernel gets.")]
Isolation = Annotated[Literal["auto", "strict"], typer.Option(help="strict: refuse to judge in a weakened sandbox.")]
Numerics = Annotated[
    Literal["as-is", "strict", "tf32"],
    typer.Option(help="PyTorch's precision flags: its defaults, fp32 without TF32, or TF32 in matrix products too."),
]
Weights = Annotated[
    Literal["fresh", "constant"],
    typer.Option(help="constant: parameters stay, as in inference, and may be packed. fresh: as in training."),
]
Quick = Annotated[bool, typer.Option("--quick", help="Measure only as long as a search does.")]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", help="Write the best kernel to this file, as a drop-in ModelNew.", show_default=False
    ),
]
Execution = Annotated[
    str | None,
    typer.Option(help="Where to judge: local, or ray or ray://HEAD:PORT for a Ray cluster ('kernelwright[ray]')."),
]
RayAddress = Annotated[
    str | None, typer.Option(help="Address of the Ray cluster's head. Default: RAY_ADDRESS, or a new cluster here.")
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
