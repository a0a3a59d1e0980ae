"""The format of a file by its first characters."""

import json
import re
from itertools import islice

from compressor.formats import csv_, vtt, whatsapp
from compressor.formats.captions import lines, times

HEAD = 1 << 16
"""Characters that are looked at, whatever the length of the file."""

_SPACE = "\ufeff \t\r\n"
_MORE = re.compile(r"\S")
_LITERAL = 12
"""Characters of the longest value that JSON cannot read in part: `-Infinity`, an escape."""
_COUNTER = re.compile(r"\s*\d{1,9}\s*")


def sniff(content: str) -> str:
    """The format of a file's text, or of its first characters: `text` unless they are plainly something else.

    JSON lines have a whole value on their first line and more behind it.
    """
    head = content[:HEAD]
    if vtt.HEAD.match(head):
        return "vtt"
    if head.lstrip(_SPACE)[:1] in ("{", "["):
        found = _json(content, head)
        if found:
            return found
    if _is_srt(head):
        return "srt"
    if whatsapp.looks_like(head):
        return "whatsapp"
    return "csv" if csv_.looks_like(head) else "text"


def _json(content: str, head: str) -> str | None:
    text = head.strip(_SPACE)
    cut = len(content) >= HEAD
    first, newline, rest = text.partition("\n")
    if cut and not newline:  # one line longer than the head; an object may be the first of many
        if not _parses(text, cut):
            return None
        end = content.find("\n", HEAD)
        if end >= 0 and _MORE.search(content, end):
            return "jsonl"
        return "json" if len(content) > HEAD or text[0] == "[" else "jsonl"
    if _parses(first):
        if not rest:
            return "json"
        # `[1]` above prose is the mark of a footnote
        more = any(line.lstrip()[:1] in ("{", "[") for line in rest.split("\n"))
        return "jsonl" if more or "{" in first else None
    if _parses(text, cut):
        return "json"
    complete = [line for line in text.split("\n")[: -1 if cut else None] if line.strip()][:20]
    good = sum(line[0] in "[{" and _parses(line) for line in complete)
    return "jsonl" if good * 2 >= len(complete) and good else None


def _parses(text: str, cut: bool = False) -> bool:
    """Whether a text is JSON, or can be the beginning of JSON where it is `cut` off."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        near_end = error.pos >= len(text) - _LITERAL or error.msg.startswith("Unterminated string")
        return cut and near_end
    except RecursionError:
        return False
    except ValueError:  # a number that is too long to read
        return True
    return True


def _is_srt(head: str) -> bool:
    """Whether the first line is a counter with the times of a cue below it, or such times."""
    seen = [line for line in islice(lines(head), 20) if head[line[0] : line[1]].strip(_SPACE)][:2]
    if not seen:
        return False
    start, end, behind = seen[0]
    start += head.startswith("\ufeff")
    if times(head, (start, end, behind)):
        return True
    return len(seen) == 2 and bool(_COUNTER.fullmatch(head, start, end)) and times(head, seen[1]) is not None
