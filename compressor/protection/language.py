"""Language: a sentence in a language that the rules do not know stays whole.

Neither the word lists nor the model were made for it, so nobody could say which of its words carry little.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from compressor.protection.lexicons import lexicon
from compressor.protection.view import View
from compressor.structure import Range

_HAN = (
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3038-\u303b\u31c0-\u31ef\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
# Latin letters, and signs made of letters that are no one's language: phonetic, letterlike, mathematical, full-width.
_LATIN = (
    "A-Za-z\u00aa\u00b2-\u00be\u00c0-\u02ff\u1d00-\u1dbf\u1e00-\u1eff\u2070-\u209c\u2100-\u218f\u2460-\u24ff"
    "\u2c60-\u2c7f\ua720-\ua7ff\uff21-\uff5a\U0001d400-\U0001d7ff"
)
_OTHER = re.compile(f"[^\\W\\d_{_LATIN}{_HAN}]+")
_LETTERS = re.compile(r"[^\W\d_]+")
_HAN_RUN = re.compile(f"[{_HAN}]+")
# Characters that Chinese sentences are full of and Japanese ones hardly know.
_CHINESE = re.compile("[了是我们这那他她你吗吧呢很说没还]")
_WORD = re.compile("[A-Za-z\u00c0-\u024f\u1e00-\u1eff\u0300-\u036f'’]+")
_ACCENTED = re.compile("[\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u1e00-\u1eff\u0300-\u036f]")
_ELIDED = re.compile(r"(?:j|l|d|qu|n|c|s|m|t|jusqu)['’](?=\w)")
# A particle and a capital are a name, in any language: de la Cruz, van der Berg.
_PARTICLE = "de|la|las|los|el|del|di|da|dos|van|von|der|den|du|le|al|ten|ter"
_NAME = re.compile(rf"\b(?:(?:{_PARTICLE})[ ]){{1,3}}(?=[A-Z\u00c0-\u00de])")

# Share of letters of other scripts from which a sentence is in another language.
_OTHER_SHARE = 0.3
# A sentence with fewer words is judged together with its turn.
_SHORT = 6


def language(view: View) -> Iterable[Range]:
    """Sentences that are neither English nor Chinese, and single words of other scripts or with foreign letters."""
    text = view.text
    for word in _OTHER.finditer(text):
        yield word.span()
    loanwords = _words()[3]
    if _ACCENTED.search(text):
        for word in _WORD.finditer(text):
            if _ACCENTED.search(word.group()) and word.group().lower() not in loanwords:
                yield word.span()
    other, foreign = _is_other(text), _is_foreign(text, 3)
    for start, end in view.sentences:
        sentence = text[start:end]
        if _is_other(sentence) or _is_foreign(sentence, 2) or ((other or foreign) and _is_unclear(sentence, other)):
            yield start, end


def _is_other(text: str) -> bool:
    """Whether enough letters are of scripts other than Latin and Han."""
    other = sum(len(run) for run in _OTHER.findall(text))
    return other > 0 and other >= _OTHER_SHARE * sum(len(run) for run in _LETTERS.findall(text))


def _is_foreign(text: str, least: int) -> bool:
    """Whether the Latin words are of another language than English.

    That takes `least` different words which English lacks, twice as many as are English alone; in a short sentence one.
    """
    words = _WORD.findall(text)
    if not words or _han_leads(text, len(words)):
        return False
    english, shared, foreign, loanwords = _words()
    tokens = list(_tokens(text))
    denying = sum(token in english for token in tokens)
    accented = {word for word in words if _ACCENTED.search(word) and word.islower() and word not in loanwords}
    if denying == 0 and len(accented) >= 2 and len(words) >= 4:
        return True
    said = set(tokens)
    for known in foreign:
        different = said & known
        if not different:
            continue
        different |= said & accented
        saying = sum(token in different for token in tokens)
        if len(different) >= least and saying > 2 * denying:
            return True
        if denying == 0:
            doubtful = sum(token in shared for token in tokens)
            if len(tokens) <= 3 and not doubtful and max(map(len, different)) > 2:
                return True
            if doubtful and len(tokens) < _SHORT and (saying + doubtful) * 2 >= len(tokens):
                return True
    return False


def _is_unclear(text: str, han: bool) -> bool:
    """Whether a sentence is short and nothing says that it is English or, unless Han may be Japanese, Chinese."""
    tokens = list(_tokens(text))
    if len(tokens) >= _SHORT or any(token in _words()[0] for token in tokens):
        return False
    return (_CHINESE if han else _HAN_RUN).search(text) is None


def _han_leads(text: str, words: int) -> bool:
    return sum(len(run) for run in _HAN_RUN.findall(text)) >= words


def _tokens(text: str) -> Iterator[str]:
    for word in _WORD.findall(_ELIDED.sub(lambda head: head.group() + " ", _NAME.sub(" ", text).lower())):
        yield word.replace("’", "'")


@lru_cache(maxsize=1)
def _words() -> tuple[frozenset[str], frozenset[str], tuple[frozenset[str], ...], frozenset[str]]:
    """Words of English alone, words that it shares, words of each other language that it lacks, and loanwords."""
    sections = lexicon("languages")
    names = ("english", "noise", "loanwords")
    english, noise, loanwords = (frozenset(sections[name]["words"].split()) for name in names)
    lists = [frozenset(words.split()) for words in sections["foreign"].values()]
    shared = english & frozenset().union(*lists)
    # A single letter is more often spelled out than a word.
    known = english | noise | frozenset("abcdefghijklmnopqrstuvwxyz")
    return english - shared, shared, tuple(words - known for words in lists), loanwords
