"""Fills a template's slots. A slot that stands alone on its line may take several lines, or vanish.

A slot is `$name`, in small letters. What fills it is not looked at again.
"""

import re
import textwrap
from collections.abc import Mapping

_SLOT = re.compile(r"(?m)^([ ]*)\$([a-z]\w*)\n|\$\{([a-z]\w*)\}|\$([a-z]\w*)")


def filled(template: str, slots: Mapping[str, str]) -> str:
    """The template with every slot filled.

    Raises:
        KeyError: nothing is known of a slot.
    """

    def value(match: re.Match[str]) -> str:
        indent, block, braced, bare = match.groups()
        if block is None:
            return slots[braced or bare]
        text = slots[block]
        return textwrap.indent(text, indent) + "\n" if text else ""

    return _SLOT.sub(value, template)
