"""WhatsApp chat exports of phones: a turn a message, whatever the locale's dates; what the app wrote itself stays."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import NamedTuple

from compressor.errors import InputError
from compressor.formats.rereading import write_readable
from compressor.transcript import Transcript, Turn

_BIDI = "[\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]{0,4}"
_SPACE = "[ \u00a0\u202f\u2009]"
_BETWEEN = rf"{_BIDI}[./\-年月년월]{_SPACE}?{_BIDI}"
_DATE = rf"\d{{1,4}}{_BETWEEN}\d{{1,2}}{_BETWEEN}\d{{1,4}}(?:[.日일]|{_SPACE}?г\.)?"
_CLOCK = r"\d{1,2}[:.]\d{2}(?:[:.]\d{2})?"
_LETTERS = r"[^\W\d_]"
# What some languages put before the time (klo, às, 下午, 오후), and what stands behind it (PM, p. m., μ.μ., Uhr).
_BEFORE = rf"(?:{_LETTERS}{{1,8}}\.?(?:{_SPACE}?{_LETTERS}{{1,3}}\.)?{_SPACE}?)?"
_BEHIND = rf"(?:{_SPACE}?(?:(?:{_LETTERS}\.{_SPACE}?){{1,3}}|{_LETTERS}{{1,8}}))?"
_STAMP = (
    rf"(?:{_DATE}{_BIDI}(?:[,،]{_BIDI}{_SPACE}{{0,2}}|{_SPACE}{{1,2}}){_BIDI}{_BEFORE}{_CLOCK}{_BEHIND}"
    rf"|{_CLOCK}{_BEHIND},?{_SPACE}{_DATE})"
)
_HEAD = re.compile(
    rf"{_BIDI}(?:\[{_BIDI}(?P<ios>{_STAMP}){_BIDI}\]{_SPACE}{{0,2}}|(?P<android>{_STAMP}){_BIDI}{_SPACE}[-–]{_SPACE})"
)
# The first colon with a space behind it ends the name; `“` stands in notices: Ann changed the subject to “Trip: May”.
_NAME = re.compile(rf"(?P<name>[^\r\n“”\"«»]{{1,120}}?):(?:{_SPACE}|(?=[\r\n]|\Z))")
_MARKS = re.compile("^[\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]+|[\u200e\u200f\u202a-\u202e\u2066-\u2069]+$")

_DELETED = """
This message was deleted|You deleted this message|null|Waiting for this message.*|
Diese Nachricht wurde gelöscht|Du hast diese Nachricht gelöscht|Se eliminó este mensaje|Eliminaste este mensaje|
Mensagem apagada|Você apagou esta mensagem|Ce message a été supprimé|Vous avez supprimé ce message|
Questo messaggio è stato eliminato|Hai eliminato questo messaggio|Dit bericht is verwijderd|U hebt dit bericht verwijderd|
Данное сообщение удалено|Вы удалили данное сообщение|此消息已删除|您删除了此消息|此訊息已刪除|您已刪除此訊息
"""
# What the app writes into a message: <Media omitted> in any language alone on its line or at the end, all behind the
# invisible mark that iOS puts before its own words, an attached file by its name, a deleted message.
_NOTICE = re.compile(
    rf"^[^\S\r\n]*<[^<>\r\n]{{1,80}}>[^\S\r\n]*$"
    rf"|<[^<>\r\n]{{3,80}}>(?=\s*\Z)"
    rf"|\u200e<[^<>\r\n]{{1,120}}>"
    rf"|^\u200e[^\r\n]*$"
    rf"|\A[^\s/\\]{{1,120}}\.\w{{2,5}} \([^()\r\n]{{3,40}}\)[^\S\r\n]*$"
    rf"|\A(?:{_DELETED.replace(chr(10), '')})\.?\Z",
    re.MULTILINE,
)
# Machines that write a date before each line, too.
_LEVELS = frozenset("error err warn warning info debug trace fatal critical notice verbose log severe".split())


class _Message(NamedTuple):
    """Where a message begins in the file, where its head ends, its text begins, and who wrote it."""

    start: int
    head: int
    text: int
    speaker: str | None


def read(source: str) -> Transcript:
    """Read a chat export.

    A line that begins with date and time begins a message; lines without belong to the one before. In a file where CR LF
    ends a message, LF is a line end inside one. A message is a turn of its author's; a notice without an author is a turn
    of role `none` that is never altered, and neither are the notices that stand for media, deleted and edited messages.

    Raises:
        InputError: The source is no string, or no line begins with a date and a time as WhatsApp writes them.
    """
    if not isinstance(source, str):
        raise InputError(f"the chat is {type(source).__name__}; allowed: str.")
    messages = _messages(source)
    if not messages and source.strip("\ufeff \t\r\n"):
        raise InputError(
            "no WhatsApp chat: no line begins with a date and a time, such as `[14/02/2026, 3:34:09 PM] Ann: hi` or "
            "`14/02/2026, 15:34 - Ann: hi`."
        )
    turns: list[Turn] = []
    at = 0
    first = messages[0].start if messages else 0
    if source[:first].strip("\ufeff \t\r\n"):
        turns.append(_turn(source, 0, 0, first, "none", None))
        at = len(turns[0].text)
    ends = [*(message.start for message in messages[1:]), len(source)]
    for message, end in zip(messages, ends, strict=False):
        role = "none" if message.speaker is None else "speaker"
        turns.append(_turn(source, at, message.text, end, role, message.speaker))
        at += len(turns[-1].extra["before"]) + len(turns[-1].text)
    return Transcript(tuple(turns), "whatsapp", MappingProxyType({"tail": source[at:]}))


def write(transcript: Transcript) -> str:
    """The export that was read, with the texts of the turns.

    Raises:
        InputError: A turn was not read from an export.
    """
    if all(turn.text == turn.extra.get("source") for turn in transcript):
        return _written(transcript)
    return write_readable(transcript, _written, read, _original)


def looks_like(head: str) -> bool:
    """Whether the beginning of a file is that of an export: its first line has a head, and a message has an author."""
    messages = _messages(head)
    if not messages or head[: messages[0].start].strip("\ufeff \t\r\n\u200e\u200f"):
        return False
    first = _HEAD.match(head, messages[0].start)
    if first is not None and first["android"] and re.search(r":\d{2}:\d{2}", first["android"]):
        return False  # phones write seconds in brackets alone: `2024-05-01 12:00:01 - root` comes from a machine
    names = [message.speaker for message in messages if message.speaker]
    return any(not (name.isascii() and name.islower() and name.isalpha()) for name in names) and not any(
        name.strip("[]()").lower() in _LEVELS for name in names
    )


def _messages(source: str) -> list[_Message]:
    """The heads of messages, in order."""
    found: list[tuple[_Message, str, str]] = []  # with the shape of the date, and the line end before
    for start in _line_starts(source):
        head = _HEAD.match(source, start)
        if head is None:
            continue
        name = _NAME.match(source, head.end())
        speaker = _MARKS.sub("", name["name"]).strip() if name else ""
        text = name.end() if name and speaker else head.end()
        shape = re.sub(r"\d+", "0", re.sub(rf"{_LETTERS}|\s", "", head["ios"] or head["android"]))
        before = source[max(start - 2, 0) : start]
        found.append((_Message(start, head.end(), text, speaker or None), shape, before))
    if not found:
        return []
    shapes = Counter(shape for _, shape, _ in found)
    usual = {found[0][1], *(shape for shape, count in shapes.items() if count * 5 >= len(found))}
    found = [item for item in found if item[1] in usual]  # another date format: a chat pasted into a message
    wide = sum(before == "\r\n" for _, _, before in found[1:])
    narrow = len(found) - 1 - wide
    if narrow and wide >= 4 * narrow:
        found = [found[0], *(item for item in found[1:] if item[2] == "\r\n")]
    return [message for message, _, _ in found]


def _line_starts(source: str) -> Iterator[int]:
    at = 0
    while at < len(source):
        yield at
        at = source.find("\n", at) + 1 or len(source)


def _turn(source: str, at: int, start: int, end: int, role: str, speaker: str | None) -> Turn:
    """The turn whose text is in the characters `start` to `end`, without the white space around it."""
    said = source[start:end].strip(" \t\r\n\u00a0\u202f\ufeff")
    begin = source.index(said, start) if said else start
    blocks: Sequence[tuple[int, int]] = ()
    if said and role == "none" and start > at:
        blocks = ((0, 0),)  # a notice of the app's: shown, and no part of what anyone said
    elif said:
        blocks = tuple(_between_notices(said))
    blocks = tuple(blocks)
    extra = {"before": source[at:begin], "source": said, "blocks": blocks}
    return Turn(role, speaker, said, MappingProxyType(extra), blocks)


def _between_notices(text: str) -> Iterator[tuple[int, int]]:
    """What the author wrote, as text blocks; nothing if the app wrote none of it."""
    notices = [found.span() for found in _NOTICE.finditer(text)]
    if not notices:
        return
    edges = [(0, 0), *notices, (len(text), len(text))]
    for (_, start), (end, _) in pairwise(edges):
        while start < end and text[start].isspace():
            start += 1
        while start < end and text[end - 1].isspace():
            end -= 1
        yield start, end


def _original(transcript: Transcript, index: int) -> Transcript:
    turns = list(transcript)
    turns[index] = turns[index].with_text(turns[index].extra["source"], turns[index].extra["blocks"])
    return transcript.with_turns(turns)


def _written(transcript: Transcript) -> str:
    pieces: list[str] = []
    for index, turn in enumerate(transcript):
        if "before" not in turn.extra:
            raise InputError(
                f"turn {index} was not read from a chat export; make it with with_text() from one that was."
            )
        pieces += (turn.extra["before"], turn.text)
    return "".join([*pieces, transcript.extra.get("tail", "")])
