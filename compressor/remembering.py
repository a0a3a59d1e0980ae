"""Finds the slots of a memory turn by turn, and links a constraint to the one that its wording replaces."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from compressor.memory import Memory, Slot
from compressor.protection import RULES, View
from compressor.protection.lexicons import LANGUAGES, expression, fold, lexicon
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
    "span": re.compile(r"(?:second|minute|hour|day|week|month|year)s?(?![a-z])|天|小时|分钟|年|个月"),
}
# The rule for numbers also keeps addresses, paths and file names.
_IDENTIFIER = re.compile(r"[^\W\d_][./@\\_:=-]+[^\W\d_]")
_WORD = re.compile(r"[a-z]{4,}|[\u4e00-\u9fff]{2,}")
_STOP = frozenset(
    "that this them with from have than more less most least only make must never please instead actually".split()
)


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence that sets a constraint, or may do so by replacing one.

    Args:
        slot: The sentence.
        revises: Whether its wording, or that of the sentence before, replaces something.
        bounds: Whether it is a constraint by itself; else only as what replaces one.
        kinds: What its numbers measure; `count` for those without a unit that is known.
        words: Its content words, folded.
    """

    slot: Slot
    revises: bool
    bounds: bool
    kinds: frozenset[str]
    words: frozenset[str]


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
        if not held and not revised:
            continue
        question = _is_question(text)
        if held and (question or not bounds or _is_request(text)):
            intents.extend(_slot(view, number, "question" if question else "request", span) for span in held)
        if bounds or revised:
            for span in held or [(start, end)]:
                claims.append(_claim(view, number, span, revised, bounds, numbers))
    return intents, claims


def _claim(view: View, number: int, span: Range, revised: bool, bounds: bool, numbers: Sequence[Range]) -> Claim:
    text = fold(view.text[span[0] : span[1]])
    inside = [fold(view.text[start:end]) for start, end in numbers if span[0] <= start and end <= span[1]]
    kinds = {kind for kind, shape in _KINDS.items() for one in inside if shape.search(one)}
    if any(not any(shape.search(one) for shape in _KINDS.values()) for one in inside):
        kinds.add("count")
    said = _cues("revisions").sub(" ", text)
    words = frozenset(word for word in _WORD.findall(said) if word not in _STOP and not _is_small(word))
    return Claim(_slot(view, number, "constraint", span), revised, bounds, frozenset(kinds), words)


def _linked(claims: Sequence[Claim]) -> list[Slot]:
    """The constraints in order, each that replaces another linked with it.

    Only wording makes a link, and only to a constraint that is still current and of the same kind: with numbers that
    measure the same, or about the same thing. The likeliest is the one with most in common, then the latest.
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
            slots[older] = replace(slots[older], current=False, replaced_by=len(slots))
            slots.append(replace(claim.slot, replaces=older))
        found.append(claim)
    return slots


def _replaced(claim: Claim, found: Sequence[Claim], slots: Sequence[Slot]) -> int | None:
    best, most = None, 0
    for place, (old, slot) in enumerate(zip(found, slots, strict=True)):
        alike = 2 * _same_measure(claim, old) + len(claim.words & old.words)
        if slot.current and alike and alike >= most:
            best, most = place, alike
    return best


def _same_measure(new: Claim, old: Claim) -> bool:
    """Whether their numbers measure the same; `at most 3` may stand for any number that was set before."""
    if new.kinds & old.kinds:
        return True
    return new.kinds == {"count"} and bool(old.kinds) and not new.words


def _bounds(text: str) -> bool:
    """Whether a sentence sets a limit, a ban or a condition."""
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
        inside = [
            view.words[index] for index in view.inside(start, end) if not is_mark(view.text[slice(*view.words[index])])
        ]
        if inside:
            yield max(start, inside[0][0]), min(end, inside[-1][1])


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
    spans = []
    for start, end in sorted(view.run(RULES["numbers"])):
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
        if counted > end and not is_mark(view.text[end:counted].strip()):
            end = counted
        spans.append((start, end))
    reach = -1
    for start, end in spans:
        if start >= reach:
            yield start, end
            reach = end


def _distinct(slots: Iterable[Slot]) -> Iterator[Slot]:
    """Each name once, at its first mention, with how often it occurs."""
    found: dict[str, Slot] = {}
    for slot in slots:
        known = found.get(slot.text)
        found[slot.text] = slot if known is None else replace(known, mentions=known.mentions + 1)
    yield from found.values()
