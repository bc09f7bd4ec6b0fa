"""What Cloud Build refuses, or quietly takes for something else, although the message is well-formed.

One file a subject: its rules (what is promised, and where that is said) and its checks.
"""

from overnight.builds import file
from overnight.builds.rules import outputs, scripts, secrets, steps, substituting, times
from overnight.builds.rules.context import Check
from overnight.forms import message
from overnight.forms.findings import Rule

_SUBJECTS = (steps, times, substituting, secrets, outputs, scripts)

CHECKS: tuple[Check, ...] = tuple(check for subject in _SUBJECTS for check in subject.CHECKS)

RULES: tuple[Rule, ...] = tuple(
    dict.fromkeys(
        value for subject in (file, message, *_SUBJECTS) for value in vars(subject).values() if isinstance(value, Rule)
    )
)
"""Every rule there is, once, by subject; what house policy adds stands in policies/cloudbuild."""
