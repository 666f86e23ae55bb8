"""A receipt's file: written whole, and read as text that a stranger may have sent.

Before anything in the file is believed, it must be of bounded size, JSON without tricks, of a known version, whole, and
asking for nothing that a judge on this machine may not do.
"""

import json
from pathlib import Path
from typing import NoReturn

from pydantic import JsonValue, ValidationError

from kernelwright.errors import ReceiptError
from kernelwright.records.base import complaint
from kernelwright.records.policy import Policy
from kernelwright.records.receipt import RECEIPT_VERSION, Receipt, content_hash
from kernelwright.store.files import write_whole
from kernelwright.store.secret import find_secret

LIMIT_BYTES = 16 << 20
"""The largest file that is read; a final's receipt has about 50 kB."""
SEED_LIMIT = 1 << 62
MOST_SEEDS = 1024
MOST: dict[str, float] = {
    "compile_limit_s": 1800, "run_limit_s": 600, "tuning_limit_s": 1800, "memory_bytes": 1 << 40,
    "seeds": 64, "search_blocks": 1000, "final_blocks": 1000, "search_seconds": 600, "final_seconds": 600,
    "patience": 10_000, "tune_points": 256,
}  # fmt: skip
"""The largest options of a policy that a stranger may ask this machine to judge under."""


def write_receipt(receipt: Receipt, file: Path, *, follow: bool = True) -> Path:
    """Write it so that a reader never sees half of it; `follow` as in `write_whole`.

    Raises:
        StoreError: the file cannot be written.
    """
    return write_whole(file, receipt.model_dump_json(indent=1) + "\n", follow=follow)


def read_receipt(file: Path) -> Receipt:
    """Read the receipt in a file, and check that it is intact.

    Raises:
        ReceiptError: it cannot be read, is not a receipt, is of another version, was edited, or asks for too much.
    """
    document = _document(_text(file), file)
    version = document.get("receipt")
    if "receipt" not in document:
        raise ReceiptError(f"{str(file)!r} is no receipt: name a file that --receipt wrote")
    if version != RECEIPT_VERSION:
        raise ReceiptError(
            f"{str(file)!r} is a receipt of version {version!r}, and this version of kernelwright reads version "
            f"{RECEIPT_VERSION}: use the version of kernelwright that wrote it"
        )
    if document.get("hash") != content_hash(document) or _forged(document):
        raise ReceiptError(
            f"receipt {str(file)!r} was changed after it was written: its content does not match its hash or its seal. "
            "Get the original; what this one says was not measured"
        )
    receipt = _parsed(document, file)
    _must_be_modest(receipt, file)
    return receipt


def is_proved(receipt: Receipt) -> bool:
    """Whether this user's own seal stands on a receipt that was read: nobody else wrote what it says."""
    secret = find_secret()
    return secret is not None and receipt.seal.startswith(f"{secret.id}:")


def _forged(document: dict[str, JsonValue]) -> bool:
    """Whether it bears this user's seal, and the seal is of something else."""
    secret, said = find_secret(), str(document.get("seal", ""))
    mine = secret is not None and said.startswith(f"{secret.id}:")
    return secret is not None and mine and said != secret.seal(content_hash(document | {"seal": ""}))


def _text(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            data = stream.read(LIMIT_BYTES + 1)
    except OSError as error:
        raise ReceiptError(f"receipt {str(file)!r} cannot be read ({error.strerror}): check the path") from None
    if len(data) > LIMIT_BYTES:
        raise ReceiptError(f"{str(file)!r} is longer than {LIMIT_BYTES >> 20} MiB: no receipt is")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise ReceiptError(f"{str(file)!r} is no receipt: it is not UTF-8 text") from None


def _document(text: str, file: Path) -> dict[str, JsonValue]:
    try:
        found = json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise ReceiptError(f"{str(file)!r} is no receipt ({error}): name a file that --receipt wrote") from None
    if not isinstance(found, dict):
        raise ReceiptError(f"{str(file)!r} is no receipt: it holds no JSON object")
    return found


def _once(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a field appears twice")
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def _parsed(document: dict[str, JsonValue], file: Path) -> Receipt:
    try:
        return Receipt.model_validate_json(json.dumps(document))
    except (ValidationError, RecursionError, ValueError) as error:
        what = str(error)
        if isinstance(error, ValidationError):
            fault = error.errors()[0]
            what = f"{'.'.join(str(part) for part in fault['loc'])}: {complaint(fault)}"
        raise ReceiptError(
            f"receipt {str(file)!r} cannot be read by this version of kernelwright ({what}): "
            "use the version that wrote it"
        ) from None


def _must_be_modest(receipt: Receipt, file: Path) -> None:
    """A receipt chooses the policy under which a stranger's kernel is judged here, within bounds."""
    claim = receipt.claim
    off = claim.policy.disabled
    if off:
        raise ReceiptError(
            f"receipt {str(file)!r} was made with defences switched off ({', '.join(off)}): it proves nothing, and its "
            "kernel is not run here without them"
        )
    large = _too_large(claim.policy)
    seeds = claim.evaluation.seeds
    if len(seeds) > MOST_SEEDS or any(not 0 <= seed < SEED_LIMIT for seed in seeds):
        large.append(f"{len(seeds)} seeds, or seeds that no referee draws")
    if large:
        raise ReceiptError(f"receipt {str(file)!r} asks for more than a judge here would do: {', '.join(large)}")


def _too_large(policy: Policy) -> list[str]:
    values = policy.model_dump()
    # Written so that a NaN is too large as well.
    return [f"{name} of {values[name]}" for name, most in MOST.items() if not 0 < values[name] <= most]
