"""A second opinion on which words carry force: counts them by word lists of its own.

It shares no list, pattern or import with `compressor.protection`, so that a rule that forgets a word is seen. The lists
were written for this project and follow the annotators' contract: modals, quantifiers, negations, numbers, conditions,
quotes and, in English, names. Left out are numbers that only count the entries of a list, and set phrases in which a
word has lost its force (`not at all`, `is that all right`).
"""

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from compressor.evaluation.matching import inside_word

KINDS = ("modals", "quantifiers", "negations", "numbers", "conditions", "quotes", "entities")

RULE_KINDS = KINDS[:-1]
"""Kinds that fixed rules protect; names are found by the model."""


class Found(NamedTuple):
    """Characters `start` to `end` (excluded) of one text."""

    kind: str
    start: int
    end: int


def _words(*lines: str) -> str:
    """A pattern for whole English words and phrases; `/` separates them, longer ones first."""
    phrases = sorted((phrase for line in lines for phrase in line.split("/")), key=len, reverse=True)
    return r"(?<![\w'’])(?:" + "|".join(phrase.replace(" ", r"\s+") for phrase in phrases) + r")(?![\w]|['’]\w)"


_ENGLISH: Mapping[str, str] = MappingProxyType(
    {
        "modals": _words(
            "must/may/might/can/could/shall/should/would/ought to/cannot/need to/needs to/needed to/have to/has to",
            "had to/having to/allowed to/supposed to/required to/obliged to/permitted to/forbidden to/had better",
        )
        + r"|(?<!\w)(?:ca|could|would|should|must|need|might|sha)n['’]t\b",
        "quantifiers": r"(?<!\bat )(?<!\bafter )(?!all right|all the best|up to date)"
        + _words(
            "all/any/none/only/every/each/both/either/neither/most/some/several/few/fewer/half/at least/at most/up to",
            "more than/less than/fewer than/no more than/no less than/always/never/already/yet/still/within/per",
            "twice/once",
        ),
        "negations": _words(
            "not/no/never/without/neither/nor/cannot/none/nobody/nothing/nowhere/no one/fails to/failed to/fail to",
            "refuse/refuses/refused/unable to",
        )
        + r"|\w+n['’]t\b",
        "conditions": _words(
            "if/unless/until/provided that/provided/as long as/except/except for/otherwise/whether/in case/subject to",
            "other than/apart from/only if/only when/on condition that",
        ),
        "numbers": r"(?<![\w.])[$€£¥#]?[A-Za-z]{0,3}\d[\w.,:/%’'-]*[\w%]|(?<![\w.])[$€£¥#]?\d%?|"
        + _words(
            "two/three/four/five/six/seven/eight/nine/ten/eleven/twelve/thirteen/fourteen/fifteen/sixteen/seventeen",
            "eighteen/nineteen/twenty/thirty/forty/fifty/sixty/seventy/eighty/ninety/hundred/thousand/million/billion",
            "dozen",
        ),
    }
)

# A negation is taken with the character it stands before: 不太可能 that lost 太 says the opposite.
_CHINESE: Mapping[str, str] = MappingProxyType(
    {
        "modals": "必须|应当|应该|不得|不能|不可以|可以|不许|不准|禁止|务必|需要|不必|无须|无需|不应|允许|可能",
        "quantifiers": "所有|全部|任何|至少|至多|最多|最少|不超过|超过|以内|以上|以下|仅限|一律"
        r"|每[个天次周月年人位份张台]|(?<![一二两三四五六七八九十几每这那\d])只(?![是好不])",
        "negations": "没有|并非|从不|从未|未(?!来)[\u4e00-\u9fff]"
        "|(?<![特分区级差个性告])别(?!的|人|墅|名)[\u4e00-\u9fff]"
        "|(?<![是要能会可好在行对差])(?:不(?!好意思|客气|用谢|过|错|少|久|管|仅|但|同)|没(?!事|错|关系|问题))[\u4e00-\u9fff]",
        "conditions": "如果|除非|只要|只有|除外|除了|否则|假如|一旦|倘若|的前提|的话|直到|为准",
        "numbers": "[两二三四五六七八九十百千万亿半几][两一二三四五六七八九十百千万亿]*"
        "(?=[个天次周月年人位份张台块元点号级楼层条种分小])",
    }
)

_DIGITS = r"[$¥€]?\d+(?:[.,:/]\d+)*[%％]?"
_QUOTES = r"\"[^\"\n]{1,200}\"|“[^”\n]{1,200}”|「[^」\n]{1,200}」|『[^』\n]{1,200}』"
_NAMES = r"(?<=[a-z0-9,;] )(?!I\b)[A-Z][\w’'&-]*[\w](?: (?!I\b)[A-Z][\w’'&-]*\w)*"


def _compiled(patterns: Mapping[str, str]) -> dict[str, re.Pattern[str]]:
    return {
        kind: re.compile(pattern, re.IGNORECASE if kind not in ("entities", "quotes") else 0)
        for kind, pattern in patterns.items()
    }


_PATTERNS: Mapping[str, Mapping[str, re.Pattern[str]]] = MappingProxyType(
    {
        "en": _compiled({**_ENGLISH, "quotes": _QUOTES, "entities": _NAMES}),
        "zh": _compiled({**_CHINESE, "numbers": _CHINESE["numbers"] + "|" + _DIGITS, "quotes": _QUOTES}),
    }
)

_ENTRY = re.compile(r"\d{1,2}[.)](?=\s)")
"""The number of an entry, at the head of a line."""


def count_forces(text: str, lang: str) -> Iterator[Found]:
    """Every stretch of a text that carries force, by kind and place; a stretch may be of several kinds.

    Args:
        lang: `en` or `zh`; other languages are read as `en`.
    """
    for kind, pattern in _PATTERNS.get(lang, _PATTERNS["en"]).items():
        for match in pattern.finditer(text):
            if kind == "modals" and match[0] == "May" and _is_month(text, match.start(), match.end()):
                continue
            if (
                kind == "numbers"
                and _ENTRY.match(text, match.start())
                and not text[: match.start()].rpartition("\n")[2].strip()
            ):
                continue
            start, end = match.span()
            while inside_word(text, start):  # a number with the letters it stands among: 30s, v4.2
                start -= 1
            while inside_word(text, end):
                end += 1
            yield Found(kind, start, end)


def _is_month(text: str, start: int, end: int) -> bool:
    """Whether `May` at this place is the month: beside a number, or with a capital in the middle of a sentence."""
    before = text[:start].rstrip()
    return text[end:].lstrip()[:1].isdigit() or bool(before and before[-1] not in '.!?:\n-*"“')
