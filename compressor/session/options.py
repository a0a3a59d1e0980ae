"""The options of a session, checked when it is made."""

from dataclasses import dataclass
from typing import Any

from compressor.errors import PolicyError
from compressor.policy import Policy

KEEP_LAST = 4
"""Turns at the end that stay verbatim, unless the policy says otherwise."""

SAVED = ("on_overflow", "headroom", "note_missing", "append_only")
ON_OVERFLOW = ("report", "raise", "omit")


@dataclass(frozen=True, slots=True)
class Rules:
    """How a session shrinks.

    Args:
        policy: The budget.
        keep_last: The turns at the end that stay verbatim.
        on_overflow, headroom, note_missing, append_only: See `Session`.
    """

    policy: Policy
    keep_last: int
    on_overflow: str = "report"
    headroom: float = 0.7
    note_missing: bool = False
    append_only: bool = False

    @classmethod
    def of(cls, policy: Any, on_overflow: Any, headroom: Any, note_missing: Any, append_only: Any) -> "Rules":
        """The rules of a session's options.

        Raises:
            PolicyError: An option is not allowed.
        """
        _check(policy, on_overflow, headroom, note_missing, append_only)
        keep_last = KEEP_LAST if policy.keep_last is None else policy.keep_last
        return cls(policy, keep_last, on_overflow, headroom, note_missing, append_only)

    @property
    def target(self) -> float:
        """The tokens that a step aims at."""
        return self.headroom * (self.policy.max_tokens or 0)


def _check(policy: Any, on_overflow: Any, headroom: Any, note_missing: Any, append_only: Any) -> None:
    """Refuse options that are not allowed."""
    if not isinstance(policy, Policy):
        raise PolicyError(f"policy is {policy!r}; allowed: None or a Policy, such as Policy(max_tokens=8000).")
    if policy.emptied not in ("auto", "word"):
        raise PolicyError(
            f"emptied is {policy.emptied!r}; allowed in a session: 'auto' or 'word', as providers refuse empty messages."
        )
    if on_overflow not in ON_OVERFLOW:
        raise PolicyError(f"on_overflow is {on_overflow!r}; allowed: {', '.join(map(repr, ON_OVERFLOW))}.")
    if on_overflow != "report" and policy.max_tokens is None:
        raise PolicyError(
            f"on_overflow is {on_overflow!r} without max_tokens, so nothing can overflow; give max_tokens."
        )
    if isinstance(headroom, bool) or not isinstance(headroom, (int, float)) or not 0 < headroom <= 1:
        raise PolicyError(f"headroom is {headroom!r}; allowed: a number above 0 and at most 1.")
    for name, value in (("note_missing", note_missing), ("append_only", append_only)):
        if not isinstance(value, bool):
            raise PolicyError(f"{name} is {value!r}; allowed: True or False.")
