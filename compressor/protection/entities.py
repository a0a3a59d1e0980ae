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
_SHOUTED, _MEANT, _GIVEN, _BETWEEN = (_set(name) for name in ("shouted", "meant", "given", "between"))
_INITIAL = re.compile("[A-HJ-Z]")
_LATIN = re.compile("[A-Za-z\u00c0-\u024f]")
# A word after one of these may have its capital for its place alone.
_BEGINNERS = frozenset("\"“‘«„「『'([:•*|—–…>_`#-+·")
_SOUND = re.compile(r"(?:m+h?m+|u+h+m*|u+m+|h+m+|[aoe]+h+|(?:h[aeiou])+h*|h+u+h+|wo+w+|a+w+|whoo+|uh-.*|mm-.*)$")
_ADVERBIAL = re.compile(r"[a-z]{4,}(?:ly|ing|ed|tion|tions|ment|ments|ness|able|ible)$")

_INNER = re.compile(r"(?<=[a-z])[A-Z](?!['’])|(?<=[A-Z][A-Z])[a-z](?=[a-z]*\b)|(?<=[A-Za-z0-9])_(?=[A-Za-z0-9])")
_HAN = "\u4e00-\u9fff"
_HANDLE = re.compile(f"(?<![\\w@#&/])[@#](?:[A-Za-z_][\\w.-]{{0,60}}|[{_HAN}]{{1,8}}#?)")
_SPELLED = re.compile(r"(?<![\w'’-])[A-Za-z](?:[ .]{1,2}[A-Za-z](?![\w'’-])){2,40}")
_TITLE = re.compile(f"(?<![\\w])(?:{_any('titles')})(?:\\.[ ]?|[ ])(?=[A-Z\u00c0-\u00de])[\\w'’-]{{1,40}}")
_SPOKEN = re.compile(f"(?<![\\w])(?:{_any('spoken_titles')})[.]?[ ]([a-z][\\w'’-]{{1,40}})")

_FAMILY = _any("chinese_surnames")
# What is no part of a given name between a surname and a title.
_NO_GIVEN = "\\W0-9A-Za-z的了是我你您他她在有和请问叫让给说找去到个位名跟与这那谢何时候以上面前后"
_ZH_NAMES = re.compile(
    f"(?<!谢)(?!谢谢)(?:{_FAMILY})(?:[^{_NO_GIVEN}]{{0,2}}?)(?:{_any('chinese_titles')})(?<![工总哥姐董姓])"
    f"|(?<![{_HAN}])(?:{_FAMILY})[工总哥姐董](?![是共体之数量额结部算会能要觉在程作])"
    f"|(?:{_FAMILY})[工总董](?=[{_HAN}]?[，。：:、！])|[小老阿](?:{_FAMILY})(?![{_HAN}]?[额度低校大小兴区时门])"
    f"|(?<=叫)(?:{_FAMILY})[{_HAN}]{{1,2}}|(?<=姓名：)[{_HAN}]{{2,4}}|(?<=我是)(?:{_FAMILY})[{_HAN}]{{1,2}}(?=[，。,])"
    f"|{_any('chinese_places')}[省市县区]?"
)
# 思路 is no road, 社区 no district.
_ZH_SUFFIX = re.compile(
    f"(?:{_any('chinese_suffixes')})|(?<=[{_HAN}]{{2}})"
    "(?:(?<![思走线道公铁马回出网电一套门短半销来去后陆])路|(?<![社地小园片郊市山景城专误禁])区|(?<![城超股门上夜都楼菜])市"
    "|(?<![农乡])村|(?<![大逛上步])街|(?<![节反外各全本])省|(?<![城冰乡重])镇|(?<![各全郡])县)"
    f"(?=[{_HAN}]?[，。、,.0-9一二三四五六七八九十]|[的有在和]|\\s|$)"
)
_GENERIC_END = re.compile("[的了是有在个家些多里到们去来么何样]$")
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
        spoken = ((title.span(), _stem(title[1])) for title in _SPOKEN.finditer(text))
        found.extend(place for place, name in spoken if name not in _COMMON and not _ADVERBIAL.match(name))
    if has_unspaced(text):
        found.extend(_chinese(view))
    tokens = [text[start:end] for start, end in view.words]
    named = [False] * len(tokens)
    for start, end in found:
        for word in view.inside(start, end):
            named[word] = True
    for word in np.flatnonzero(view.entity >= view.thresholds["entity"]).tolist():
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
    if not upper or (len(letters) >= 6 and len(upper) > 0.75 * len(letters)):  # Title Case, or shouting
        return
    loud, first = _shouting(tokens, letters), _firsts(view, tokens, letters)
    lower = {tokens[word] for word in letters if tokens[word][0].islower()}
    inside = {tokens[word] for word in upper if word not in first}
    for word in upper:
        token, stem = tokens[word], _stem(tokens[word])
        small = stem.lower()
        if token == "I" or token[:2] in ("I'", "I’") or _SOUND.match(small):
            continue
        if small in _GRAMMAR and stem not in _MEANT and small not in _GIVEN:
            continue
        if stem.isupper() and len(stem) > 1:
            named[word] |= word not in loud and stem not in _SHOUTED and (small not in _COMMON or stem in _MEANT)
        elif word not in first:
            named[word] = True
        elif small in _COMMON:
            named[word] |= (token in inside or small in _GIVEN) and _leads(view, tokens, word)
        elif token in inside:
            named[word] = True
        elif small not in lower:
            named[word] |= not _ADVERBIAL.match(small) or _leads(view, tokens, word)


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
            if not goes_on or not (token[0].isdigit() or _INITIAL.fullmatch(token)):
                continue
            named[word] = True
        gap = range(last + 1, word)
        if last >= 0 and 0 < len(gap) <= 3 and all(_bridges(text, view.words[one], tokens[one]) for one in gap):
            for one in gap:
                named[one] = True
        last = word


def _bridges(text: str, place: Range, token: str) -> bool:
    if token in _BETWEEN or token == "the":
        return True
    return token in ("-", "–", "/", "·", ".") and text[place[0] - 1 : place[0]] not in (" ", "")


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
            piece = text[previous[0] : previous[1]]
            if previous[1] != start or piece in _GENERIC or _GENERIC_END.search(piece) or not piece[-1].isalnum():
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
