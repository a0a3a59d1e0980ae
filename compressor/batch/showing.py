"""Names and messages on their way to a terminal, where a control character could move the cursor or forge a line."""

import unicodedata

_STEERING = {*map(chr, range(0x202A, 0x202F)), *map(chr, range(0x2066, 0x206A))}
"""What turns the direction of the text behind it."""


def shown(text: str) -> str:
    """The text in one line, with control characters, line ends and marks of direction as escapes."""
    return "".join(_escaped(char) if _is_control(char) else char for char in text)


def _is_control(char: str) -> bool:
    return unicodedata.category(char) in ("Cc", "Zl", "Zp") or char in _STEERING


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")
