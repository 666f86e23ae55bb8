"""The page of a directory's admission: which tasks are fit, and why the others are not.

One file without scripts, like the report of a run, and as careful: names, messages and figures are hostile text.
"""

import base64
import hashlib
from collections import Counter

from markupsafe import Markup

from kernelwright.records.admission import REASON_MEANING, Admission
from kernelwright.report.html import style, templates
from kernelwright.version import __version__


def render(admission: Admission) -> str:
    """The whole page."""
    rules = style()
    reasons = Counter(task.reason for task in admission.tasks if task.reason is not None)
    return (
        templates()
        .get_template("admission.html.j2")
        .render(
            admission=admission,
            reasons=reasons.most_common(),
            meanings=REASON_MEANING,
            fit=sum(task.fit for task in admission.tasks),
            warned=sum(bool(task.warnings) for task in admission.tasks),
            style=Markup(rules),
            style_hash=base64.b64encode(hashlib.sha256(rules.encode()).digest()).decode(),
            version=__version__,
        )
    )
