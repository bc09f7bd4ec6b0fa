"""What Cloud Build refuses, or quietly takes for something else, although the message is well-formed.

One file a subject: its rules (what is promised, and where that is said) and its checks.
"""

from overnight.builds import file
from overnight.builds.rules import outputs, scripts, secrets, steps, substituting, times
from overnight.builds.rules.context import Check
from overnight.forms.findings import Rule
from overnight.forms.message import UNKNOWN_FIELD, WRONG_VALUE

_SUBJECTS = (steps, times, substituting, secrets, outputs, scripts)

CHECKS: tuple[Check, ...] = tuple(check for subject in _SUBJECTS for check in subject.CHECKS)

RULES: tuple[Rule, ...] = (
    UNKNOWN_FIELD,
    WRONG_VALUE,
    *(rule for subject in (file, *_SUBJECTS) for rule in vars(subject).values() if isinstance(rule, Rule)),
)
"""Every rule there is, once, by subject; what house policy adds stands in policies/cloudbuild."""
