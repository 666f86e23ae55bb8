"""Weights in eight bits: how a checkpoint is stored that comes with a package, at a quarter of its size.

A row of a matrix is whole numbers of eight bits and one scale, its largest magnitude over 127 (absmax quantisation, as in
LLM.int8, arXiv 2208.07339, section 2.1, by rows); vectors stay in half precision. It is a matter of storage alone: loading
multiplies, and the network computes with floats.
"""

import shutil
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors.torch import load_file, save_file

FILE = "weights.int8.safetensors"
SCALE = "|scale"
"""Behind the name of a matrix; no parameter's name has a bar."""
BESIDE = ("config.json", "generation_config.json", "tokenizer*", "special_tokens_map.json", "*.jinja")
"""What a checkpoint has besides its weights."""
SAFE: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}


def pack(source: Path, folder: Path) -> int:
    """Store a checkpoint in eight bits; returns the bytes of its folder.

    Args:
        source: A folder as `save_pretrained` writes it.
        folder: Where to; it is made.

    Raises:
        OSError, ValueError: there is no such checkpoint.
    """
    network = transformers.AutoModelForCausalLM.from_pretrained(
        source, dtype=torch.float32, use_safetensors=True, **SAFE
    )
    stored: dict[str, Any] = {}
    for name, value in _stored_once(network).items():
        if value.dim() == 2:
            stored[name], stored[name + SCALE] = rounded(value)
        else:
            stored[name] = value.half().contiguous()
    folder.mkdir(parents=True, exist_ok=True)
    save_file(stored, folder / FILE, metadata={"format": "pt"})
    for pattern in BESIDE:
        for file in source.glob(pattern):
            shutil.copy(file, folder)
    return sum(file.stat().st_size for file in folder.iterdir() if file.is_file())


def rounded(matrix: Any) -> tuple[Any, Any]:  # noqa: ANN401  torch is not typed here
    """A matrix (rows, columns) as int8 of the same shape, and float32 scales (rows, 1); a row of zeros has scale 0."""
    scale = matrix.abs().amax(dim=1, keepdim=True) / 127.0
    whole = torch.where(scale > 0, matrix / scale, torch.zeros_like(matrix)).round()
    return whole.to(torch.int8), scale.float()


def load(folder: Path, dtype: Any = "auto") -> Any:  # noqa: ANN401
    """The network of a packed folder, on the CPU; single precision where none is named.

    Raises:
        OSError, ValueError, KeyError, RuntimeError: the folder is damaged or of another architecture.
    """
    kind = torch.float32 if dtype == "auto" else dtype
    config = transformers.AutoConfig.from_pretrained(folder, **SAFE)
    network = transformers.AutoModelForCausalLM.from_config(config, dtype=kind)
    stored = load_file(folder / FILE)
    weights = {
        name: (value * stored[name + SCALE] if value.dtype == torch.int8 else value).to(kind)
        for name, value in stored.items()
        if not name.endswith(SCALE)
    }
    missing = _stored_once(network).keys() ^ weights.keys()
    if missing:
        raise ValueError(f"{folder / FILE} does not fit its config.json: {', '.join(sorted(missing))}")
    network.load_state_dict(weights, strict=False)  # what is tied to another is not stored twice
    network.tie_weights()
    if (folder / "generation_config.json").is_file():
        network.generation_config = transformers.GenerationConfig.from_pretrained(folder, local_files_only=True)
    return network


def unpack(folder: Path, target: Path) -> Path:
    """A packed checkpoint with its weights as floats, as `save_pretrained` writes it: for servers, and to train on.

    Args:
        folder: As `pack` wrote it.
        target: Where to; it is made.

    Returns:
        The target.

    Raises:
        OSError, ValueError, KeyError, RuntimeError: the folder is damaged or of another architecture.
    """
    load(folder).save_pretrained(target)
    for pattern in BESIDE[1:]:
        for file in folder.glob(pattern):
            shutil.copy(file, target)
    return target


def _stored_once(network: Any) -> dict[str, Any]:  # noqa: ANN401
    """Parameters and buffers by name, each storage once."""
    found: dict[int, tuple[str, Any]] = {}
    for name, value in network.state_dict().items():
        found.setdefault(value.data_ptr(), (name, value))
    return dict(found.values())
