"""Names that records hold of things that stand in tables: languages, kinds of device, architectures."""

from typing import Annotated

from pydantic import BeforeValidator, GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from kernelwright.devices import facts, kinds, understood
from kernelwright.languages import names


class OneOf:
    """A text that must be one of these; pydantic checks it and shows it as it does a `Literal`."""

    def __init__(self, *names: str) -> None:
        self.names = names

    def __get_pydantic_core_schema__(self, _source: type, _handler: GetCoreSchemaHandler) -> CoreSchema:
        """What pydantic builds its check from."""
        return core_schema.literal_schema(list(self.names))


LanguageName = Annotated[str, OneOf(*names())]
"""Such as `cpp`; `languages.language` has what is known of it."""
KindName = Annotated[str, OneOf(*kinds())]
"""Such as `cuda`; `devices.kinds` has what is known of it."""
ArchName = Annotated[
    str, OneOf("", *facts()), BeforeValidator(lambda name: understood(name) if name and isinstance(name, str) else name)
]
"""Such as `sm_90`; empty where none is named."""
