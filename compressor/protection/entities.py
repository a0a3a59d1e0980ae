"""Entities: names, by the scorer's probabilities and by their shape."""

import re
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from compressor.protection.lexicons import lexicon
from compressor.protection.view import View
from compressor.structure import Range
from compressor.words import has_unspaced

_NAMES = lexicon("shapes")["names"]


def _set(name: str) -> frozenset[str]:
    return frozenset(_NAMES[name].split())


def _any(name: str) -> str:
    return "|".join(re.escape(word) for word in sorted(_NAMES[name].split(), key=len, reverse=True))


_GRAMMAR, _COMMON = _set("grammar"), _set("common") | _set("grammar")
_SHOUTED, _MEANT, _BETWEEN = _set("shouted"), _set("meant"), _set("between")
_LATIN = re.compile("[A-Za-z\u00c0-\u024f]")
# A word after one of these may have its capital for its place alone.
_BEGINNERS = frozenset("\"“‘«„「『'([:•*|—–…>_`#-+·")
_ADVERBIAL = re.compile(r"[a-z]{4,}(?:ly|ing|ed|tion|tions|ment|ments|ness|able|ible)$")

_INNER = re.compile(r"(?<=[a-z])[A-Z](?!['’])|(?<=[A-Z][A-Z])[a-z](?=[a-z]*\b)|(?<=[A-Za-z0-9])_(?=[A-Za-z0-9])")
_HAN = "\u4e00-\u9fff"
_HANDLE = re.compile(f"(?<![\\w@#&/])[@#](?:[A-Za-z_][\\w.-]{{0,60}}|[{_HAN}]{{1,8}}#?)")
_SPELLED = re.compile(r"(?<![\w'’-])[A-Za-z](?:[ .]{1,2}[A-Za-z](?![\w'’-])){2,40}")
_TITLE = re.compile(f"(?<![\\w])(?:{_any('titles')})(?:\\.[ ]?|[ ])(?=[A-Z\u00c0-\u00de])[\\w'’-]{{1,40}}")
_SPOKEN = re.compile(f"(?<![\\w])(?:{_any('spoken_titles')})[.]?[ ]([a-z][\\w'’-]{{1,40}})")

_FAMILY = _any("chinese_surnames")
_ZH_NAMES = re.compile(
    f"(?:{_FAMILY})(?:[{_HAN}]{{0,2}}?)(?:{_any('chinese_titles')})(?<!工)(?<!总)(?<!哥)(?<!姐)(?<!董)(?<!姓)|(?<![{_HAN}])(?:{_FAMILY})[工总哥姐董](?![是共体之数量额结部算会能要觉在程作])"
    f"|(?:{_FAMILY})[工总董](?=[{_HAN}]?[，。：:、！])|[小老阿](?:{_FAMILY})(?![{_HAN}]?[额度低校大小兴区时门])"
    f"|(?<=叫)(?:{_FAMILY})[{_HAN}]{{1,2}}|(?<=姓名：)[{_HAN}]{{2,4}}|(?<=我是)(?:{_FAMILY})[{_HAN}]{{1,2}}(?=[，。,])|{_any('chinese_places')}[省市县区]?"
)
_ZH_SUFFIX = re.compile(f"(?:{_any('chinese_suffixes')})|(?<=[{_HAN}]{{2}})[省市县区镇路街村](?=[{_HAN}]?[，。、,.0-9一二三四五六七八九十]|[的有在和]|\\s|$)")
_FILLERS = _set("latin_fillers")
_GENERIC = _set("chinese_generic")


def entities(view: View) -> Iterable[Range]:
    """Names of people, places, organisations and things, whole.

    A word counts by the scorer's probability or by its shape: capitals that the sentence does not ask for, handles,
    titles with what follows, spelled-out letters; in Chinese, what ends like the name of a firm or place, surnames with
    titles, and Latin words.
    """
    text = view.text
    found = [match.span() for shape in (_INNER, _HANDLE, _TITLE) for match in shape.finditer(text)]
    found.extend(match.span() for match in _SPELLED.finditer(text) if len(set(match.group().lower()) - set(" .ai")) > 1)
    if text.islower():
        found.extend(title.span() for title in _SPOKEN.finditer(text) if _stem(title[1]) not in _COMMON and not _ADVERBIAL.match(title[1]))
    if has_unspaced(text):
        found.extend(_chinese(view))
    tokens = [text[start:end] for start, end in view.words]
    named = [False] * len(tokens)
    for start, end in found:
        for word in view.inside(start, end):
            named[word] = True
    for word in np.flatnonzero(view.entity >= view.thresholds["entity"]):
        named[word] = True
    _capitals(view, tokens, named)
    _fill(view, tokens, named)
    for word, is_named in enumerate(named):
        if is_named:
            yield view.words[word]


def _capitals(view: View, tokens: Sequence[str], named: list[bool]) -> None:
    """Mark the words that a capital makes a name."""
    letters = [word for word, token in enumerate(tokens) if _LATIN.match(token)]
    upper = [word for word in letters if tokens[word][0].isupper()]
    if not upper:
        return
    if len(upper) == len(letters) >= 6 or (len(letters) >= 6 and len(upper) > 0.75 * len(letters)):  # Title Case, or shouting
        return
    loud = _shouting(tokens, letters)
    first = _firsts(view, tokens, letters)
    lower = {tokens[word] for word in letters if tokens[word][0].islower()}
    inside = {tokens[word] for word in upper if word not in first}
    for word in upper:
        token = tokens[word]
        stem = _stem(token)
        small = stem.lower()
        if small in _GRAMMAR and stem not in _MEANT or token[:2] in ("I'", "I’") or token == "I":
            continue
        if stem.isupper() and len(stem) > 1:
            named[word] |= word not in loud and stem not in _SHOUTED and (small not in _COMMON or stem in _MEANT)
        elif word not in first:
            named[word] = True
        elif small not in _COMMON and (small not in lower or token in inside) and (token in inside or not _ADVERBIAL.match(small) or _leads(view, tokens, word)):
            named[word] = True
        elif token in inside and small in _COMMON and _leads(view, tokens, word):
            named[word] = True


def _stem(token: str) -> str:
    return token[:-2] if token.endswith(("'s", "’s")) else token


def _leads(view: View, tokens: Sequence[str], word: int) -> bool:
    """Whether a capitalised word goes on with another, as first names do."""
    if word + 1 >= len(tokens) or view.words[word + 1][0] != view.words[word][1] + 1:
        return False
    following = tokens[word + 1]
    return following[0].isupper() and _stem(following).lower() not in _COMMON


def _shouting(tokens: Sequence[str], letters: Sequence[int]) -> set[int]:
    """The words of each run of more than five in capitals, if it has common words in it."""
    loud: set[int] = set()
    run: list[int] = []
    for word in [*letters, -1]:
        if word >= 0 and tokens[word].isupper():
            run.append(word)
            continue
        if len(run) > 5 and any(tokens[one].lower() in _COMMON for one in run):
            loud.update(run)
        run = []
    return loud


def _firsts(view: View, tokens: Sequence[str], letters: Sequence[int]) -> set[int]:
    """The words whose capital their place explains: the first of each sentence, and those after an opening mark."""
    first: set[int] = set()
    latin = np.zeros(len(tokens) + 1, dtype=np.int64)
    after = len(tokens)
    known = set(letters)
    for word in range(len(tokens) - 1, -1, -1):  # the nearest word with letters, at or after each
        if word in known:
            after = word
        latin[word] = after
    latin[len(tokens)] = len(tokens)
    for start, end in view.sentences:
        words = view.inside(start, end)
        if len(words):
            first.add(int(latin[words.start]))
    for word in letters:
        if word and (tokens[word - 1][-1] in _BEGINNERS and not tokens[word - 1][-1].isalnum()):
            first.add(word)
    return first


def _fill(view: View, tokens: Sequence[str], named: list[bool]) -> None:
    """Close the gaps inside names: `of`, `de la`, a hyphen, `&`; and take the figures and capitals that go on."""
    text = view.text
    last = -1
    for word, token in enumerate(tokens):
        if not named[word]:
            goes_on = last == word - 1 and last >= 0 and text[view.words[last][1] : view.words[word][0]] == " "
            if goes_on and (token[0].isdigit() or (len(token) == 1 and token.isupper() and token != "I" and token.isascii())):
                named[word] = True
            else:
                continue
        gap = range(last + 1, word)
        if last >= 0 and 0 < len(gap) <= 3 and all(_bridges(text, view.words[one], tokens[one]) for one in gap):
            for one in gap:
                named[one] = True
        last = word


def _bridges(text: str, place: Range, token: str) -> bool:
    return token in _BETWEEN or token == "the" or (token in ("-", "–", "/", "·", ".") and text[place[0] - 1 : place[0]] not in (" ", ""))


def _chinese(view: View) -> Iterator[Range]:
    text = view.text
    for name in _ZH_NAMES.finditer(text):
        yield name.span()
    for suffix in _ZH_SUFFIX.finditer(text):
        words = view.inside(suffix.start(), suffix.end())
        start = view.words[words.start][0]
        if start == suffix.start():
            if not words.start:
                continue
            previous = view.words[words.start - 1]
            if previous[1] != start or text[previous[0] : previous[1]] in _GENERIC or not text[start - 1].isalnum():
                continue
            start = previous[0]
        yield start, suffix.end()
    for start, end in view.sentences:
        latin = [word for word in view.inside(start, end) if _LATIN.match(text, view.words[word][0])]
        if latin and sum("\u4e00" <= char <= "\u9fff" for char in text[start:end]) > len(latin):
            for word in latin:
                begin, stop = view.words[word]
                if stop - begin > 1 and text[begin:stop].lower() not in _FILLERS:
                    yield begin, stop
