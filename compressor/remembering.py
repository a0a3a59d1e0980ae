"""Finds the slots of a memory turn by turn, and links a constraint to the one that its wording replaces."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from compressor.memory import Memory, Slot
from compressor.protection import RULES, View
from compressor.protection.lexicons import LANGUAGES, expression, fold, lexicon
from compressor.protection.pleasantries import is_pleasantry
from compressor.protection.reports import reports
from compressor.protection.turns import pins
from compressor.structure import Range
from compressor.transcript import VERBATIM_ROLES
from compressor.words import is_mark

LONGEST = 2000
"""So many characters of a sentence are searched for its wording."""

SURE_NAME = 0.5
"""From this probability on a word is listed as a name. The rule that protects words takes far less, not to miss any."""

_ASKS = re.compile(r"[?？][\"'”’»)）」』*_\s]*$")
_KINDS = {
    "money": re.compile(r"[$€£¥₹]|(?:euro|dollar|pound|yuan|usd|eur|gbp|cny|rmb|buck|cent|franc)s?(?![a-z])|[元块]"),
    "share": re.compile(r"[%％]|per ?cent|百分"),
    "clock": re.compile(r"\d:\d\d|\d ?(?:a|p)\.?m(?![a-z])|o'clock|noon|midnight|点|morning|afternoon|evening"),
    "date": re.compile(
        r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:january|february|march|april|june|july|august|september|october"
        r"|november|december)|(?<![a-z])may(?![a-z])|today|tomorrow|tonight|weekend|[号日月]|星期|周[一二三四五六日末]|明天|后天|今天"
    ),
    "span": re.compile(r"(?:second|minute|hour|day|night|week|month|year)s?(?![a-z])|[天晚年]|小时|分钟|个月"),
}
_DATED = ("clock", "date")
_NUMERAL = "[\\d零〇一二两三四五六七八九十]"
_UNSPACED_CLOCK = re.compile(
    "(?:凌晨|清晨|早上|上午|中午|下午|傍晚|晚上)?"
    f"{_NUMERAL}{{1,3}}点(?:钟|半|[一二三]刻|{_NUMERAL}{{1,3}}分?(?!{_NUMERAL}|[个位张名次]))"
)
_UNSPACED_TAIL = re.compile(r"(?<=[\u4e00-\u9fff])[去到在给从是见]$")
# What parts two clauses, each of which may be replaced without the other.
_CLAUSE = re.compile(r"[;:，,；：、](?!\d)| (?:and|but|or|nor) |而且|并且|但是|或者")
_UNIT = re.compile(
    rf"(?:\d|(?<![a-z])(?:{lexicon('en')['macros']['number']}))[ -]?"
    r"((?!(?:of|to|or|and|for)(?![a-z]))[a-z]+(?:[ -][a-z]+)*)[^a-z\d]*$"
)
_UNSPACED_UNIT = re.compile(r"[\d一二两三四五六七八九十百千万][个位名]?([\u4e00-\u9fff]*)$")
# The rule for numbers also keeps addresses, paths and file names.
_IDENTIFIER = re.compile(r"[^\W\d_][./@\\_:=-]+[^\W\d_]")
_WORD = re.compile(r"[a-z]{4,}|[\u4e00-\u9fff]{2,}")
_STOP = frozenset(
    "that this them with from have than more less most least only make must never please instead actually scrap also"
    " 最多 最少 至少 不要 超过 不要超过 不超过 必须 算了".split()
)


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence that sets a constraint, or may do so by replacing one.

    Args:
        slot: The sentence.
        revises: Whether its wording, or that of the sentence before, replaces something.
        bounds: Whether it is a constraint by itself; else only as what replaces one.
        kinds: What its numbers measure: a name of `_KINDS`, else the word that is counted; empty text without a unit.
        words: Its content words, folded.
        parts: The kinds and words of each of its clauses that says something.
    """

    slot: Slot
    revises: bool
    bounds: bool
    kinds: frozenset[str]
    words: frozenset[str]
    parts: tuple[tuple[frozenset[str], frozenset[str]], ...] = ()


@dataclass(frozen=True, slots=True)
class TurnMemory:
    """The slots of one turn."""

    intents: tuple[Slot, ...] = ()
    claims: tuple[Claim, ...] = ()
    entities: tuple[Slot, ...] = ()
    quotes: tuple[Slot, ...] = ()
    numbers: tuple[Slot, ...] = ()


def recall(view: View, number: int) -> TurnMemory:
    """Find the slots of one turn.

    Args:
        view: The turn. Of system turns and tool results nothing is taken, as they stay whole.
        number: Its number.
    """
    if view.turn.role in VERBATIM_ROLES or not view.words:
        return TurnMemory()
    numbers = list(_numbers(view))
    intents, claims = _sentences(view, number, numbers)
    return TurnMemory(
        intents=tuple(intents),
        claims=tuple(claims),
        entities=tuple(_slot(view, number, "entity", span) for span in _names(view)),
        quotes=tuple(_slot(view, number, "quote", span) for span in _quotes(view)),
        numbers=tuple(_slot(view, number, "number", span) for span in numbers),
    )


def revises(view: View) -> bool:
    """Whether a user's turn replaces something that was said before, by its wording."""
    return view.turn.role == "user" and any(_says("revisions", view.text[start:end]) for start, end in view.sentences)


def remember(turns: Iterable[TurnMemory], missing: Iterable[Slot] = ()) -> Memory:
    """The memory of a conversation from the slots of its turns, in order."""
    turns = list(turns)
    return Memory(
        intents=tuple(slot for turn in turns for slot in turn.intents),
        constraints=tuple(_linked([claim for turn in turns for claim in turn.claims])),
        entities=tuple(_distinct(slot for turn in turns for slot in turn.entities)),
        quotes=tuple(slot for turn in turns for slot in turn.quotes),
        numbers=tuple(slot for turn in turns for slot in turn.numbers),
        missing=tuple(missing),
    )


def _slot(view: View, number: int, kind: str, span: Range) -> Slot:
    return Slot(kind, view.text[span[0] : span[1]], number, *span, view.turn.role)


def _sentences(view: View, number: int, numbers: Sequence[Range]) -> tuple[list[Slot], list[Claim]]:
    """The questions, requests and constraints among the sentences of a turn."""
    intents: list[Slot] = []
    claims: list[Claim] = []
    asking = pins(view)
    before = False  # whether the sentence before takes something back and says nothing else
    for start, end in view.sentences:
        text = view.text[start:end]
        held = [span for span in asking if start <= span[0] and span[1] <= end]
        revised = view.turn.role == "user" and (before or _says("revisions", text))
        bounds = _bounds(text)
        before = view.turn.role == "user" and _says("revisions", text) and not bounds
        question = _is_question(text)
        if not revised and (not held or not (bounds or question or _is_request(text) or not _says("idioms", text))):
            continue
        if held and (question or not bounds or _is_request(text)):
            intents.extend(_slot(view, number, "question" if question else "request", span) for span in held)
        if bounds or revised:
            for span in held or [(start, end)]:
                claims.append(_claim(view, number, span, revised, bounds, numbers))
    return intents, claims


def _claim(view: View, number: int, span: Range, revised: bool, bounds: bool, numbers: Sequence[Range]) -> Claim:
    text = fold(view.text[span[0] : span[1]])
    inside = [fold(view.text[start:end]) for start, end in numbers if span[0] <= start and end <= span[1]]
    kinds = frozenset(kind for one in inside for kind in _measures(one))
    words = _content(_cues("revisions").sub(" ", text))
    return Claim(
        _slot(view, number, "constraint", span),
        revised,
        bounds or (revised and bool(inside) and not _ASKS.search(text)),
        kinds - {""} or kinds,
        words,
        tuple(_parts(view, span, numbers)),
    )


def _parts(view: View, span: Range, numbers: Sequence[Range]) -> Iterator[tuple[frozenset[str], frozenset[str]]]:
    """The clauses of a sentence that hold a number, a limit or a content word: their measures and words."""
    start, last = span
    folded = fold(view.text)
    edges = [found.span() for found in _CLAUSE.finditer(folded, start, min(last, start + LONGEST))]
    numbers = [one for one in numbers if start <= one[0] and one[1] <= last]
    edges = [edge for edge in edges if not any(one[0] < edge[1] and edge[0] < one[1] for one in numbers)]
    for end, following in [*edges, (last, last)]:
        text = folded[start:end]
        inside = [folded[one[0] : one[1]] for one in numbers if start <= one[0] and one[1] <= end]
        words = _content(_cues("revisions").sub(" ", text))
        if inside or ((words or _bounds(text)) and not is_pleasantry(text)):
            yield frozenset(kind for one in inside for kind in _measures(one)), words
        start = following


def _content(text: str) -> frozenset[str]:
    return frozenset(word for word in _WORD.findall(text) if word not in _STOP and not _is_small(word))


def _measures(number: str) -> set[str]:
    """What a number, folded, measures."""
    known = {kind for kind, shape in _KINDS.items() if shape.search(number)}
    if known:
        return known
    unit = _UNIT.search(number) or _UNSPACED_UNIT.search(number)
    return {unit[1].removesuffix("s") if unit else ""}


def _linked(claims: Sequence[Claim]) -> list[Slot]:
    """The constraints in order, each that replaces another linked with it.

    Only wording makes a link, and only to a constraint that nothing replaced yet and of the same kind: with numbers that
    measure the same, or about the same thing. The likeliest is the one with most in common, then the latest. A number
    without a unit replaces only in the constraint directly before, and then measures what that one did. A constraint
    that says more than what is replaced stays current.
    """
    found: list[Claim] = []
    slots: list[Slot] = []
    for claim in claims:
        older = _replaced(claim, found, slots) if claim.revises else None
        if older is None:
            if not claim.bounds:
                continue
            slots.append(claim.slot)
        else:
            old = found[older]
            slots[older] = replace(slots[older], current=_says_more(old, claim), replaced_by=len(slots))
            slots.append(replace(claim.slot, replaces=older))
            if claim.kinds <= {""}:
                claim = replace(claim, kinds=old.kinds)
        found.append(claim)
    return slots


def _replaced(claim: Claim, found: Sequence[Claim], slots: Sequence[Slot]) -> int | None:
    best, most = None, 0
    for place, (old, slot) in enumerate(zip(found, slots, strict=True)):
        same = _same_measure(claim, old, place == len(found) - 1)
        if slot.replaced_by is not None or (not same and claim.kinds and old.kinds):
            continue
        alike = 2 * same + len(claim.words & old.words)
        if alike and alike >= most:
            best, most = place, alike
    return best


def _same_measure(new: Claim, old: Claim, directly: bool) -> bool:
    """Whether their numbers measure the same; `at most 3` may stand for any number that was set directly before."""
    if new.kinds & old.kinds - {""}:
        return True
    return directly and bool(new.kinds and old.kinds) and "" in new.kinds | old.kinds and not new.words - old.words


def _says_more(old: Claim, new: Claim) -> bool:
    """Whether a constraint holds more than what another replaces: a further clause, or a number of another measure."""
    shared = new.kinds & old.kinds - {""} or old.kinds
    numbered = [kinds for kinds, _ in old.parts if kinds & shared]
    return (
        bool(new.kinds and old.kinds - shared)
        or len(numbered) > max(1, sum(bool(kinds) for kinds, _ in new.parts))
        or any(not (kinds & shared if new.kinds else words & new.words) for kinds, words in old.parts)
    )


def _bounds(text: str) -> bool:
    """Whether a sentence sets a limit, a ban or a condition; idioms such as `I can't thank you enough` set none."""
    text = _cues("idioms").sub(" ", fold(text[:LONGEST]))
    return _says("limits", text) or (not _ASKS.search(text) and _says("orders", text))


def _is_question(text: str) -> bool:
    return _ASKS.search(text) is not None or _begins("questions", text)


def _is_request(text: str) -> bool:
    return _says("requests", text) or _begins("openers", text)


def _says(name: str, text: str) -> bool:
    return _cues(name).search(fold(text[:LONGEST])) is not None


def _begins(name: str, text: str) -> bool:
    """Whether a sentence begins so, behind words such as `and then`; in Chinese it may stand anywhere."""
    return any(_opening(lang, name).match(fold(text[:LONGEST])) for lang in LANGUAGES)


@lru_cache(maxsize=8)
def _cues(name: str) -> "re.Pattern[str]":
    return re.compile("|".join(expression(lang, _entries(lang, name)) for lang in LANGUAGES))


@lru_cache(maxsize=8)
def _opening(lang: str, name: str) -> "re.Pattern[str]":
    if lang == "zh":
        return re.compile(f".*?{expression(lang, _entries(lang, name))}", re.DOTALL)
    leads = expression(lang, lexicon(lang)["pins"]["leads"])
    return re.compile(f"[^\\w]*(?:{leads}[\\s,.!:;~…*_\"'“‘(（-]*){{0,4}}{expression(lang, _entries(lang, name))}")


def _entries(lang: str, name: str) -> list[str]:
    verbs = "|".join(sorted(lexicon(lang)["pins"]["verbs"].split(), key=len, reverse=True)) or "(?!)"
    return [entry.replace("<verb>", f"(?:{verbs})") for entry in lexicon("memory")[lang][name]]


@lru_cache(maxsize=4096)
def _is_small(word: str) -> bool:
    return word in _chain()


@lru_cache(maxsize=1)
def _chain() -> frozenset[str]:
    return frozenset(lexicon("en")["scope"]["chain"].split())


def _names(view: View) -> Iterator[Range]:
    """Names, their words joined where only a space or nothing parts them, without the marks around them."""
    strict = {**view.thresholds, "entity": max(SURE_NAME, view.thresholds["entity"])}
    sure = replace(view, thresholds=strict, _found={})
    for start, end in _joined(view.text, sure.run(RULES["entities"]), " "):
        if _unnamed(view, start, end):
            continue
        inside = [
            view.words[index] for index in view.inside(start, end) if not is_mark(view.text[slice(*view.words[index])])
        ]
        if inside:
            yield max(start, inside[0][0]), min(end, inside[-1][1])


def _unnamed(view: View, start: int, end: int) -> bool:
    """Whether a name is none: a unit behind a number, the verb that takes something back, or a word that is stressed."""
    name, before = view.text[start:end].strip(), view.text[max(0, start - 2) : start].rstrip()
    if name in lexicon("memory")["names"]["units"].split():
        return before[-1:].isdigit()
    if name in lexicon("memory")["names"]["stressed"].split():
        return view.text[end : end + 1] == " " and view.text[end + 1 : end + 2].islower()
    revised = _cues("revisions").match(fold(view.text), start)
    return revised is not None and end < revised.end()


def _joined(text: str, spans: Iterable[Range], between: str) -> Iterator[Range]:
    begin, reach = -1, -1
    for start, end in sorted(spans):
        if begin >= 0 and (start <= reach or (start - reach == 1 and text[reach:start] == between)):
            reach = max(reach, end)
            continue
        if begin >= 0:
            yield begin, reach
        begin, reach = start, end
    if begin >= 0:
        yield begin, reach


def _quotes(view: View) -> Iterator[Range]:
    """Quoted phrases with their marks, the outermost of those that are nested."""
    said = set(reports(view))
    reach = -1
    for start, end in sorted(set(view.run(RULES["quotes"])) - said, key=lambda span: (span[0], -span[1])):
        if start >= reach:
            yield start, end
            reach = end


def _numbers(view: View) -> Iterator[Range]:
    """Numbers with their unit, the bound before them (`at most`) and what they count."""
    governed = dict(view.run(RULES["scope"]))
    bounds = {end: start for start, end in view.run(RULES["quantifiers"])}
    folded = fold(view.text)
    idle = [found.span() for found in _cues("uncounted").finditer(folded)][::-1]
    spans = []
    clocks = [found.span() for found in _UNSPACED_CLOCK.finditer(folded)][::-1]
    for start, end in sorted(view.run(RULES["numbers"])):
        while clocks and clocks[-1][1] <= start:
            clocks.pop()
        if clocks and clocks[-1][0] < end:
            spans.append(clocks[-1])
            continue
        while idle and idle[-1][1] <= start:
            idle.pop()
        if idle and idle[-1][0] <= start and end <= idle[-1][1]:
            continue
        # A rule protects the words that its range touches, so the slot does not end within one.
        own = view.inside(start, end)
        if not own:
            continue
        start, end = min(start, view.words[own.start][0]), max(end, view.words[own.stop - 1][1])
        if _IDENTIFIER.search(view.text, start, end) and not any(map(str.isdigit, view.text[start:end])):
            continue
        start = bounds.get(start - 1 if view.text[start - 1 : start] == " " else start, start)
        after = end + 1 if view.text[end : end + 1] == " " else end
        counted = governed.get(after, governed.get(end, end))
        dated = any(_KINDS[kind].search(folded[start:end]) for kind in _DATED)
        if counted > end and not dated and not is_mark(view.text[end:counted].strip()):
            end = counted
        spans.append((start, _trimmed(folded, start, end)))
    reach = -1
    for start, end in spans:
        if start >= reach:
            yield start, end
            reach = end


def _trimmed(folded: str, start: int, end: int) -> int:
    """Where a number ends without words behind it that it does not count, such as `of these` and `instead`."""
    tail = _tails().search(folded[start:end]) or _UNSPACED_TAIL.search(folded[start:end])
    return start + tail.start() if tail and tail.start() else end


@lru_cache(maxsize=1)
def _tails() -> "re.Pattern[str]":
    return re.compile(rf"(?:\s{{1,8}}(?:{_cues('tails').pattern}))+$")


def _distinct(slots: Iterable[Slot]) -> Iterator[Slot]:
    """Each name once, at its first mention, with how often it occurs."""
    found: dict[str, Slot] = {}
    for slot in slots:
        known = found.get(slot.text)
        found[slot.text] = slot if known is None else replace(known, mentions=known.mentions + 1)
    yield from found.values()
