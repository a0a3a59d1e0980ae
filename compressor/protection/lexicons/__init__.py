"""The word lists of the protection rules, one file a language, and how they are searched.

An entry is a phrase in lower case, with straight apostrophes and simplified characters. A space in it stands for any
white space; `<name>` stands for the entry of that name in `[macros]`; everything else means what it means in a regular
expression. Entries of English match whole words, those of Chinese anywhere. A section has `hits`, which its rule
protects; it may have `inner`, hits that begin inside a word (`n't`), and `skip`, longer phrases in which the hits mean
something else.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any

from compressor.structure import Range
from compressor.words import has_unspaced

LANGUAGES = ("en", "zh")
"""The languages that have a lexicon."""

LETTER = "a-z0-9_\u00df-\u024f"
"""What an English word is made of. Narrower than `\\w`, so that a word ends where Chinese begins."""

_FOLDS = str.maketrans(dict.fromkeys("\u2019\u2018\u02bc\uff07`\u00b4", "'")) | str.maketrans(
    # Traditional characters of the entries, each with one simplified form.
    "沒無應該須會還雖為們個這幾問題請幫麼嗎謝對關係時後過來從約總經雙兩僅當與則別絕決並嚴許準務說話論儘盡萬見間內條張點歡樣誰讓訂預記發給號實際樂聯繫錯顧歉義緊驗單選擇傳寫譯賬價錢勞煩懂難終於沖減優於邊類項種層戶間輛歲態聽據裝稱謠認諾險懷虛騙",
    "没无应该须会还虽为们个这几问题请帮么吗谢对关系时后过来从约总经双两仅当与则别绝决并严许准务说话论尽尽万见间内条张点欢样谁让订预记发给号实际乐联系错顾歉义紧验单选择传写译账价钱劳烦懂难终于冲减优于边类项种层户间辆岁态听据装称谣认诺险怀虚骗",
)
_LETTERS = re.compile("[a-z]")
_CHOICE = re.compile(r"\(\?:([^()\[\]]*)\)(?![?*+{])(.*)", re.DOTALL)
_LITERAL = re.compile(r"([a-z'\u4e00-\u9fff])(?![?*+{|])")


@lru_cache(maxsize=len(LANGUAGES))
def lexicon(lang: str) -> Mapping[str, Any]:
    """The sections of one language's file, by name."""
    text = files(__name__).joinpath(f"{lang}.toml").read_text(encoding="utf-8")
    return MappingProxyType(tomllib.loads(text))


@lru_cache(maxsize=8)
def fold(text: str) -> str:
    """A text as the entries are written, character for character: lower case, straight apostrophes,
    simplified characters."""
    lower = text.lower()
    if len(lower) != len(text):
        lower = "".join(char.lower() if len(char.lower()) == 1 else char for char in text)
    return lower.translate(_FOLDS)


def expression(lang: str, entries: Iterable[str]) -> str:
    """A regular expression for folded text that matches any of the entries, the longest first.

    It branches letter by letter, as trying hundreds of phrases at each word in turn would take long.
    """
    macros: Mapping[str, str] = lexicon(lang).get("macros", {})
    found: list[str] = []
    for entry in entries:
        for name, value in macros.items():
            entry = entry.replace(f"<{name}>", f"(?:{value})")
        choice = _CHOICE.fullmatch(entry)
        found.extend(f"{word}{choice[2]}" for word in choice[1].split("|")) if choice else found.append(entry)
    joined = _branches(sorted(found, key=len, reverse=True))
    return f"(?<![{LETTER}])(?:{joined})(?![{LETTER}])" if lang == "en" else f"(?:{joined})"


def _branches(entries: Sequence[str], depth: int = 0) -> str:
    """The entries as alternatives, those that begin with the same letter under one branch."""
    groups: dict[str, list[str]] = {}
    for position, entry in enumerate(entries):
        literal = _LITERAL.match(entry) if depth < 4 and "|" not in _outside(entry) else None
        groups.setdefault(literal[1] if literal else f"#{position}", []).append(entry)
    parts: list[str] = []
    for letter, group in groups.items():
        if letter[0] == "#" or len(group) == 1:
            parts.extend(entry.replace(" ", r"(?:\s{1,8})") for entry in group)
        else:
            parts.append(f"{letter}(?:{_branches([entry[1:] for entry in group], depth + 1)})")
    return "|".join(parts) or "(?!)"


@lru_cache(maxsize=4096)
def _outside(entry: str) -> str:
    """An entry without what stands in its groups and character classes."""
    previous = ""
    while previous != entry:
        previous, entry = entry, re.sub(r"\[[^\]]*\]|\([^()]*\)", "", entry)
    return entry


@lru_cache(maxsize=64)
def finder(lang: str, section: str) -> "re.Pattern[str]":
    """The compiled search of one section; a match is of the group `hit`, or of an idiom to pass over."""
    entries = lexicon(lang)[section]
    skip, hits = expression(lang, entries.get("skip", ())), expression(lang, entries["hits"])
    if entries.get("inner"):
        hits = f"{hits}|(?:{_branches(entries['inner'])})(?![{LETTER}])"
    return re.compile(f"(?P<skip>{skip})|(?P<hit>{hits})")


@lru_cache(maxsize=128)
def find(text: str, section: str) -> tuple[Range, ...]:
    """Where the phrases of a section stand in a text, language by language."""
    folded = fold(text)
    found: list[Range] = []
    for lang in LANGUAGES:
        if has_unspaced(text) if lang == "zh" else _LETTERS.search(folded):
            found.extend(match.span() for match in finder(lang, section).finditer(folded) if match["hit"])
    return tuple(found)
