"""Turns and pins: which turns stay whole, and which sentences ask, request or set a constraint."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from compressor.protection.lexicons import LANGUAGES, expression, fold, lexicon
from compressor.protection.pleasantries import is_pleasantry, is_tag
from compressor.protection.view import View
from compressor.structure import Range, lines
from compressor.words import UNSPACED, is_mark

SHORT_TURN = 20
"""A user turn of so many words that asks something is kept whole."""
SHORT_ANSWER = 8
"""A user turn of so many words is the answer to the question before it."""
UNSPACED_WORD = {SHORT_TURN: 40, SHORT_ANSWER: 12}
"""The same limits in characters of scripts without spaces."""
QUESTION_WORDS = 4
"""A question in a meeting of fewer words asks for nothing new."""
MEETING_PIN, SURE = 0.2, 0.5
"""From these pin probabilities on a sentence of a meeting, and a stretch of a long sentence, are pinned."""
RUN_ON, BRIDGE = 12, 3
"""A sentence of more words may hold several; words of a stretch are at most so far apart."""
RECENT = 400
"""In so many last characters of the turn before, a question waits for an answer."""

_UNSPACED = re.compile(f"[{UNSPACED}]")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_PASTED = re.compile(
    r"""\s*(?:
        [\[({]?\d{2,4}[-/:.]\d{2}[-/:.]\d{2} | \[?(?:ERROR|WARN(?:ING)?|INFO|DEBUG|TRACE|FATAL)\b  # a log
        | at\s+[\w.$]+\( | \S{1,200}:\d+[:)\s] | [\w.]{1,80}(?:Error|Exception)\b | Traceback\b | File\s"
        | [{}\[\]<|#$] | >> | // | /\* | "[\w-]{1,80}":  # data, a table, a comment
        | (?:def|class|import|from|return|const|let|var|function|public|if|for|while)\b.*[:;{(]\s*$
        | .*[;{}]\s*$  # code
    )""",
    re.VERBOSE,
)
_QUESTION = re.compile(r"[?？][\"'”’»)）」』*_\s]*$")


def turns(view: View) -> Iterable[Range]:
    """Turns that stay whole (`view.verbatim`), and pinned sentences.

    In user turns the sentences that ask, request or set a constraint, by the scorer's pin or by their wording; a short
    turn with such a sentence whole; a short answer to the turn before whole. In meetings the questions, requests and
    commitments, and a short answer to a question. Of an assistant's turn only the question that it ends with. Pleasantries and pasted code, logs and data
    are no such sentences.
    """
    if view.verbatim:
        return [(0, len(view.text))] if view.text else []
    role = view.turn.role
    if role == "user":
        return _user(view)
    if role == "speaker":
        if _size(view.text, SHORT_ANSWER) and _follows_question(view) and _answers(view):
            return [(0, len(view.text))]
        return [part for span in _prose(view) for part in _meeting_pins(view, span)]
    return _closing_question(view) if role == "assistant" else []


def pins(view: View) -> list[Range]:
    """The sentences of a user, or of anybody in a meeting, that ask, request or set a constraint, one by one.

    The rule above may keep more: the whole of a short turn, and answers.
    """
    find = {"user": _user_pins, "speaker": _meeting_pins}.get(view.turn.role)
    return [part for span in _prose(view) for part in find(view, span)] if find else []


def _user(view: View) -> list[Range]:
    if _size(view.text, SHORT_ANSWER) and _answers(view):
        return [(0, len(view.text))]
    prose = list(_prose(view))
    pinned = [part for span in prose for part in _user_pins(view, span)]
    if pinned and "\n" not in view.text.strip() and _size(view.text, SHORT_TURN):
        return [(0, len(view.text))]
    return pinned


def _prose(view: View) -> Iterator[Range]:
    """The sentences that are neither pasted nor pleasantries."""
    pasted = _pasted(view.text)
    at = 0
    for start, end in view.sentences:
        while at < len(pasted) and pasted[at][1] <= start:
            at += 1
        if at < len(pasted) and pasted[at][0] < end:
            continue
        sentence = view.text[start:end]
        if not is_pleasantry(sentence) and not is_tag(sentence):
            yield start, end


def _pasted(text: str) -> list[Range]:
    """The lines of code fences, and lines that look like code, logs or data."""
    found: list[Range] = []
    fenced = False
    for start, end in lines(text):
        fence = _FENCE.match(text, start, end) is not None
        if fence or fenced or _PASTED.match(text, start, min(end, start + 400)):
            found.append((start, end))
        fenced = fenced != fence
    return found


def _user_pins(view: View, span: Range) -> list[Range]:
    """What of a user's sentence is pinned: nearly always all of it or nothing."""
    if _pin(view, span) >= view.thresholds["pin"] or _requests(view.text[span[0] : span[1]]):
        return [span]
    return _sure_runs(view, span)


def _meeting_pins(view: View, span: Range) -> list[Range]:
    """What of a meeting's sentence is pinned; there everybody asks everybody, so the scorer must be sure."""
    if _pin(view, span) >= MEETING_PIN or _asks(view.text[span[0] : span[1]]):
        return [span]
    return _sure_runs(view, span)


def _pin(view: View, span: Range) -> float:
    """The mean over the words of a sentence."""
    inside = view.inside(*span)
    return float(view.pin[inside.start : inside.stop].mean()) if inside else 0.0


def _sure_runs(view: View, span: Range) -> list[Range]:
    """Stretches that the scorer is sure of inside a long sentence: speech without full stops is one for whole turns."""
    inside = view.inside(*span)
    if len(inside) <= RUN_ON:
        return []
    sure = [index for index in inside if view.pin[index] >= SURE]
    runs: list[list[int]] = []
    for index in sure:
        if runs and index - runs[-1][-1] <= BRIDGE:
            runs[-1].append(index)
        else:
            runs.append([index])
    return [(view.words[run[0]][0], view.words[run[-1]][1]) for run in runs if len(run) >= QUESTION_WORDS]


def _requests(sentence: str) -> bool:
    """Whether the wording asks, requests or sets a constraint."""
    head = fold(sentence[:1000])
    return bool(_QUESTION.search(sentence[-40:])) or any(
        _openers(lang).match(head) or _found(lang, "markers", head) for lang in LANGUAGES
    )


def _asks(sentence: str) -> bool:
    """Whether a sentence of a meeting is a real question, a request or a commitment."""
    if _QUESTION.search(sentence[-40:]):
        return len(_UNSPACED.findall(sentence)) > QUESTION_WORDS or len(sentence.split()) >= QUESTION_WORDS
    head = fold(sentence[:1000])
    return any(_found(lang, "commitments", head) or _found(lang, "spoken", head) for lang in LANGUAGES)


def _answers(view: View) -> bool:
    """Whether a short turn answers the turn before it."""
    if is_pleasantry(view.text, acknowledgements=False):
        return False
    if is_pleasantry(view.text):  # `great` answers a question, and acknowledges anything else
        return _follows_question(view)
    before = view.previous.text if view.previous is not None else ""
    if "?" in before[-RECENT:] or "？" in before[-RECENT:]:
        return True
    return any(_answer(lang).match(fold(view.text)) for lang in LANGUAGES)


def _follows_question(view: View) -> bool:
    """Whether the turn before ends with a question that is no mere courtesy."""
    if view.previous is None or not view.previous.text.rstrip().endswith(("?", "？")):
        return False
    last = view.previous.text.rstrip()[-RECENT:]
    return not is_pleasantry(last) and not is_tag(last)


def _closing_question(view: View) -> list[Range]:
    last = view.sentences[-1] if view.sentences else (0, 0)
    sentence = view.text[last[0] : last[1]]
    asks = _QUESTION.search(sentence[-40:]) and not is_pleasantry(sentence) and not is_tag(sentence)
    return [last] if asks else []


def _size(text: str, limit: int) -> bool:
    """Whether a text is at most so many words long."""
    if len(text) > 40 * limit:
        return False
    characters = len(_UNSPACED.findall(text))
    spaced = sum(not is_mark(word) for word in _UNSPACED.sub(" ", text).split())
    return spaced + characters * limit / UNSPACED_WORD[limit] <= limit


@lru_cache(maxsize=4)
def _openers(lang: str) -> "re.Pattern[str]":
    leads = expression(lang, lexicon(lang)["pins"]["leads"])
    gap = r"[\s,.!:;~…*_\"'“‘(（-]*"
    return re.compile(f"[^\\w]*(?:{leads}{gap}){{0,4}}{_any_of(lang, 'openers')}")


def _found(lang: str, name: str, sentence: str) -> bool:
    return _searches(lang, name).search(sentence) is not None


@lru_cache(maxsize=8)
def _searches(lang: str, name: str) -> "re.Pattern[str]":
    return re.compile(_any_of(lang, name))


def _any_of(lang: str, name: str) -> str:
    pins = lexicon(lang)["pins"]
    verbs = "|".join(sorted(pins["verbs"].split(), key=len, reverse=True)) or "(?!)"
    return expression(lang, [entry.replace("<verb>", f"(?:{verbs})") for entry in pins[name]])


@lru_cache(maxsize=4)
def _answer(lang: str) -> "re.Pattern[str]":
    return re.compile(rf"\W*(?:{expression(lang, lexicon(lang)['pins']['answers'])}|\d)")
