"""Reports: who says, claims, promises or refuses what is said."""

import re
from collections.abc import Iterator
from functools import lru_cache

from compressor.protection.lexicons import LETTER, expression, fold, lexicon
from compressor.protection.view import View
from compressor.structure import Range
from compressor.words import has_unspaced

_ADVERBS = "也都已经还就又才却便"


def reports(view: View) -> Iterator[Range]:
    """A reporting verb with the one who says it directly before, where a clause follows.

    `Marta said the boiler is fixed` is no statement about the boiler; `as I said` and `you said` report nothing new.
    """
    folded = fold(view.text)
    for said in _spoken().finditer(folded):
        if _is_speaker(said["who"], said["other"] is not None):
            yield said.span()
    yield from (found.span() for found in _accordingly().finditer(folded))
    if has_unspaced(folded):
        yield from _unspaced(view, folded)


def _unspaced(view: View, folded: str) -> Iterator[Range]:
    """Reports in Chinese: from the piece of the one who speaks to the end of the verb."""
    words = [folded[start:end] for start, end in view.words]
    for said in _said().finditer(folded):
        if not (inside := view.inside(*said.span())):
            continue
        first = inside.start
        who = folded[view.words[first][0] : said.start()]  # 他说 is often one piece
        while not who or all(char in _ADVERBS for char in who):
            first -= 1
            if first < 0 or not has_unspaced(words[first]) or view.words[first][1] != view.words[first + 1][0]:
                break
            who = words[first]
        else:
            if _is_unspaced_speaker(who, said["other"] is not None):
                split = first and _is_half(words[first]) and _is_half(words[first - 1])  # 房|东
                joined = split and view.words[first - 1][1] == view.words[first][0]
                yield view.words[first - 1 if joined else first][0], said.end()


def _is_unspaced_speaker(who: str, of_others: bool) -> bool:
    zh = lexicon("zh")["scope"]
    if who in _words(zh["pronouns"]):
        return not (of_others and who[0] in "我你您咱谁")
    return not all(char in zh["chain_characters"] for char in who)


def _is_half(word: str) -> bool:
    return len(word) == 1 and has_unspaced(word) and word not in lexicon("zh")["scope"]["chain_characters"]


def _is_speaker(word: str, of_others: bool) -> bool:
    """Whether a word can be the one who says it: a noun, a name or a pronoun, the first two persons only of an undertaking."""
    spoken = _set("third") if of_others else _set("third") | _set("speakers")
    if word in spoken:
        return True
    if "'" in word:  # let's, i'd, there's
        return False
    scope = lexicon("en")["scope"]
    return word not in _words(scope["chain"]) and word not in _words(scope["fillers"]) and len(word) > 2


def _set(name: str) -> frozenset[str]:
    return _words(lexicon("en")["reports"][name])


@lru_cache(maxsize=16)
def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


@lru_cache(maxsize=1)
def _spoken() -> "re.Pattern[str]":
    lists = {name: "|".join(words.split()) for name, words in lexicon("en")["reports"].items()}
    return re.compile(
        rf"(?<![{LETTER}'])(?P<who>[{LETTER}][{LETTER}'-]{{0,30}}) (?:(?:{lists['adverbs']}) )?"
        rf"(?:(?:{lists['verbs']})|(?P<other>{lists['others']}))(?= (?!(?:{lists['unless_after']})(?![{LETTER}]))[{LETTER}\d$£€])"
    )


@lru_cache(maxsize=1)
def _accordingly() -> "re.Pattern[str]":
    return re.compile(expression("en", ["according to (?:(?:the|our|his|her|my|your|their|its) )?[a-z0-9'-]{1,30}"]))


@lru_cache(maxsize=1)
def _said() -> "re.Pattern[str]":
    zh = lexicon("zh")["reports"]
    verbs, others = ("|".join(zh[name].split()) for name in ("verbs", "others"))
    return re.compile(
        f"(?<!{zh['unless_before']})(?:(?:{verbs})|(?P<other>{others}))(?!{zh['unless_after']})(?=[^，。！？；\\n]{{2}})"
    )
