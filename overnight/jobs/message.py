"""The form of a job spec: the rules of overnight.forms.message, as jobs have them."""

from overnight.forms.message import (
    EXCLUSIVE_FIELDS,
    UNKNOWN_FIELD,
    WRONG_VALUE,
    Form,
    check_form,
    shown,
    suggestion,
)

__all__ = ["EXCLUSIVE_FIELDS", "UNKNOWN_FIELD", "WRONG_VALUE", "Form", "check_form", "shown", "suggestion"]
