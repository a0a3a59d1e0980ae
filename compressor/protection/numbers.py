"""Numbers: figures, number words, amounts with their units, dates, times, and what identifies a thing."""

import re
from collections.abc import Iterable, Iterator
from itertools import chain

from compressor.protection.lexicons import lexicon
from compressor.protection.view import View
from compressor.structure import MARKER, Range
from compressor.words import UNSPACED, WIDE_MARKS, has_unspaced

_SHAPES = lexicon("shapes")
_EN, _ZH, _UNITS = _SHAPES["english"], _SHAPES["chinese"], _SHAPES["units"]


def _any(words: str) -> str:
    """An expression for any of the words, the longest first."""
    return "|".join(re.escape(word) for word in sorted(words.split(), key=len, reverse=True))


_FIGURE = "\\d\u00b2\u00b3\u00b9\u00bc-\u00be\u2070\u2074-\u2079\u2150-\u218b\u2460-\u249b"
# From the first figure of a run to its end, without the punctuation behind.
_FIGURES = re.compile(f"[{_FIGURE}](?:[^\\s{UNSPACED}{WIDE_MARKS}]{{0,400}}[\\w%°€$£])?")
_LISTED = re.compile(f"^(?:{MARKER.pattern})", re.MULTILINE)

_SMALL = _any(" ".join((_EN["units"], _EN["tens"], _EN["scales"])))
_COUNT = f"(?:{_SMALL}|{_any(_EN['fractions'])}|{_any(_EN['ordinals'])})"
_LETTER = "A-Za-z0-9_\u00c0-\u024f"
_NUMBER_WORDS = re.compile(
    f"(?<![{_LETTER}])(?=[A-Za-z])(?:(?:a|an)[ ]"
    f"(?=(?:{_any(_EN['scales'])}|half|third|quarter|couple|fifth|tenth|double)(?![{_LETTER}'’])))?"
    f"(?:{_COUNT}|{_any(_EN['others'])})"
    f"(?:[ -](?:and[ ]|a[ ]|oh[ ]|point[ ])?(?:{_COUNT})(?![{_LETTER}]))*(?![{_LETTER}]|['’]s (?!worth))",
    re.IGNORECASE,
)
_IDLE = re.compile(f"(?<![{_LETTER}])(?:{_EN['idle']})", re.IGNORECASE | re.MULTILINE)
_PRONOUN_BEFORE = re.compile(r"([A-Za-z]+)[ ]$")
_WORD_AFTER = re.compile(r"[ ]([A-Za-z]+(?:['’][a-z]+)?)")
_NOT_ONE, _NOT_COUNTED = frozenset(_EN["not_one"].split()), frozenset(_EN["not_counted"].split())
_BEFORE_ONE = frozenset(("least", "most", "only", "just", "than", "exactly", "number", "or", "to"))
_IDLE_SECOND = frozenset(["a", "one", "just", "per", "every", "each", "split"])

# March, May and the short names are also other words: they need a capital, or a number beside them.
_MONTHS = _any(" ".join(word for word in _EN["months"].split() if word not in ("march", "mar", "jun", "may")))
_WEEKDAYS, _PERIODS = _any(_EN["weekdays"]), _any(_EN["periods"])
_CALENDAR = re.compile(
    f"(?<![{_LETTER}])(?=[A-Za-z])(?:"
    "(?:this|next|last|tomorrow|yesterday|every|each|coming|following|previous|past|early|mid|late)"
    f"[ -](?:{_PERIODS}|{_WEEKDAYS}|{_MONTHS})(?:['’]s|s)?"
    f"|(?:in the|(?:on )?(?:{_WEEKDAYS})) (?:morning|afternoon|evening|night)s?|at night"
    f"|(?:{_MONTHS}|{_WEEKDAYS}|{_any(_EN['days'])})(?:['’]s)?"
    f"|(?-i:March|Mar|Jun|(?<!^)(?<![.!?][ ])May(?=[ ,.]|$)|(?:{_any(_EN['short_days'])}))"
    f"|(?<=of )(?:march|may)|(?:march|may)(?= (?:the )?(?:\\d|{_SMALL}|{_any(_EN['ordinals'])}))"
    f"|quarter[ ](?:past|to)|half[ ]past|per[ ]?cent)(?![{_LETTER}])",
    re.IGNORECASE | re.MULTILINE,
)

_JOIN = re.compile(
    r"[ \u00a0\u202f\u2009]?[-–—~/:.+×x*=^()]{0,2}[ \u00a0\u202f\u2009]?"
    r"| (?:to|and|or|of|by|x|in|past|until|till|through|thru|vs"
    r"|out of|of the|the|at|on|times|minus|plus|over|into|point|oh) "
    r"|(?:至|到|或|比|、|—|～|-|~|乘|/)",
    re.IGNORECASE,
)
_SCALE = f"(?:[ \u00a0\u202f-]?(?:{_any(_UNITS['scales'])})(?![A-Za-z])(?:\\s(?:of\\s|d['’]|de\\s)?)?)?"
_UNIT_WORDS = _any(_UNITS["words"]).replace("\\-", "[ -]")
_AFTER = re.compile(
    f"(?:\\s?\\+)?{_SCALE}(?:[ \u00a0\u202f-]{{0,2}}"
    "(?:(?:business|working|calendar|full|more|square|cubic|nautical|light)[ -])?"
    f"(?:(?-i:{_any(_UNITS['exact'])})(?![{_LETTER}])"
    f"|(?:{_UNIT_WORDS})(?![{_LETTER}])(?:[ ](?:old|ago|and[ ]a[ ]half)(?![A-Za-z]))?"
    "|an?[ ](?:hour|day|year|month|dozen|million|minute|mile)(?![A-Za-z])"
    "|[%‰°€$£¥₹₩])(?:/[A-Za-z]{1,4}(?![A-Za-z]))?)?",
    re.IGNORECASE,
)
_LABELS = frozenset(_EN["labels"].split())
_CODES = frozenset(word for word in _UNITS["exact"].split() if len(word) == 3 and word.isupper())
_WORD_BEFORE = re.compile(f"(?<![{_LETTER}])([A-Za-z§№]{{1,12}})([.:]?)\\s?$")
_SIGN_BEFORE = re.compile(r"(?:[A-Z]{0,3}[$€£¥₹₩₽₺₫₴#§]\s?|[±≈<>≤≥~×−+=]{1,2}\s?|(?<=\s)[(+-]|(?:人民币|￥))$")
_TAIL = re.compile(r"(?=[\s-]{0,3}[^\W\d_]|[\s-]{0,3}[%‰°º€$£¥₹₩₽₺₫₴฿″′+])")

# What a label may go with instead of a number: option B, Chapter IV.
_LETTERED = re.compile(f"(?<=[A-Za-z])\\s(?:[A-Z](?![{_LETTER}'’])|[IVXLC]{{2,6}}(?![{_LETTER}]))")

# One place inside a run without spaces is enough: the word around it is protected.
_NAMED_THINGS = re.compile(
    r"(?<=[\w.+-])@(?=[\w-]+\.\w)|(?<=[a-z0-9])://(?=\S)|\bwww\.(?=\w)|(?<![\w.])(?:[~.]{0,2}/(?=[\w.-]*\w)(?!\w(?![\w/.-])))|\w/[\w.-]{1,200}/(?=\w)|\w/[\w-]{1,200}\.(?=[a-z]\w)"
    r"|\b[A-Za-z]:\\|\\\\(?=\w)|(?<=[a-zA-Z])\\(?=\w)"
    r"|(?<=\w)\.(?:py|js|ts|tsx|jsx|md|txt|json|jsonl|ya?ml|toml|csv|tsv|xlsx?|docx?|pptx?|pdf|png|jpe?g|gif|svg|zip|tar|gz|sh|sql|html?|css|java|go|rs|rb|php|cpp|hpp|cs|log|cfg|conf|ini|env|lock|exe|dll|so|parquet|ipynb|mp3|mp4|wav|com|org|net|io|dev|local|example|eu|uk|de|fr|cn)\b"
    r"|(?<![\w-])--(?=[A-Za-z])|(?<=[ `(])-[A-Za-z](?=[ =`)]|$)|(?<=[ `(])-[a-z]{2,4}(?=[ `])"
    r"|(?<![\w$])\$\{?(?=[A-Za-z_])|\b[A-Za-z_]\w{0,60}=(?=[^\s=])"
    r"|%[A-Z_]{2,40}%|\blocalhost\b|[^\s\w]?#(?=\d)",
    re.MULTILINE,
)

_NUMERAL = "0-9０-９零〇一二两三四五六七八九十百千万亿"
_ZH_UNIT = _any(_ZH["units"])
_ZH_NUMBERS = re.compile(
    f"(?P<idiom>{_any(_ZH['idioms'])}|{_any(_ZH['greetings'])})(?!(?<=十分)钟)"
    f"|第[{_NUMERAL}几]+(?:{_ZH_UNIT})?|百分之[{_NUMERAL}点.几]+|[{_NUMERAL}]+分之[{_NUMERAL}几]+|[{_NUMERAL}]+(?=分之)"
    f"|(?:大|星期|周|礼拜)?(?:{_any(_ZH['times'])})|(?:上|下|这|本|每)?(?:周|星期|礼拜)[一二三四五六日天](?![{_NUMERAL}]?[个次条年遍])|大年[{_NUMERAL}]+|初[一二三四五六七八九十]+"
    f"|(?:上|好几|几|数|成|近|约|过|小|大)?(?<=[上几数成近约过])[十百千万亿]+(?:{_ZH_UNIT})?"
    f"|(?<=[\\d０-９])[ ]?(?:多|几|来|余)?[{_NUMERAL}]*(?:多|来|余)?[ ]?"
    f"(?:{_ZH_UNIT}|[{_NUMERAL}])(?:半|多|左右)?(?:钱|人民币)?"
    f"|[{_NUMERAL}几]{{0,4}}(?:[二三四五六七八九十][点][零一二三四五六七八九半]+)(?:{_ZH_UNIT})?"
    f"|(?:好)?几(?:[十百千万亿]+)?(?:多)?(?:{_ZH_UNIT})|[{_NUMERAL}]{{2,}}(?:多|几|来|余)?(?:{_ZH_UNIT})?(?:半|多)?"
    f"|一(?:{_any(_ZH['counted_once'])})(?:半)?|(?<=[只仅就少多每唯同任不没哪第有过])一(?:{_ZH_UNIT})(?=.)|[二两三四五六七八九十](?:多|几|来)?(?:{_ZH_UNIT})?(?:半)?|一半|半(?:个?(?:{_ZH_UNIT}))?"
)


def numbers(view: View) -> Iterable[Range]:
    """Every word with a figure in it, number words, units, dates and times, ranges, versions, addresses, paths, flags.

    The number of a list item at the start of its line is not protected. `one` counts as a number where it counts
    something (`one week`, `at least one`), not as a pronoun (`the right one`).
    """
    text = view.text
    yield from (thing.span() for thing in _NAMED_THINGS.finditer(text))
    yield from _lettered(text)
    chinese = has_unspaced(text)
    if chinese:
        yield from (found.span() for found in _ZH_NUMBERS.finditer(text) if not found["idiom"])
    idle = {at for courtesy in _IDLE.finditer(text) for at in range(*courtesy.span())}
    dates = [date.span() for date in _CALENDAR.finditer(text) if date.end() - 1 not in idle]
    words = (word for word in _words(text) if word[0] not in idle)
    atoms = sorted(chain(_figures(text), words, dates))
    yield from _amounts(text, atoms, frozenset(start for start, _ in dates))


def _lettered(text: str) -> Iterator[Range]:
    for letter in _LETTERED.finditer(text):
        label = _WORD_BEFORE.search(text, max(0, letter.start() - 15), letter.start())
        if label and label[1].lower() in _LABELS:
            yield label.start(), letter.end()


def _figures(text: str) -> Iterator[Range]:
    markers = {end: marker.start() for marker in _LISTED.finditer(text) for end in range(marker.start(), marker.end())}
    for figures in _FIGURES.finditer(text):
        if figures.start() not in markers:
            yield figures.span()


def _words(text: str) -> Iterator[Range]:
    for words in _NUMBER_WORDS.finditer(text):
        start, end = words.span()
        said = words.group().lower()
        if said in ("one", "second", "half"):
            before = _PRONOUN_BEFORE.search(text, max(0, start - 24), start)
            after = _WORD_AFTER.match(text, end)
            previous, following = before[1].lower() if before else "", after[1].lower() if after else ""
            if said == "one" and not _counts(previous, following):
                continue
            if said == "second" and previous in _IDLE_SECOND and (not following or following in _NOT_COUNTED):
                continue
        yield start, end


def _counts(previous: str, following: str) -> bool:
    """Whether `one` between these two words is a number."""
    if previous in _BEFORE_ONE or following in ("of", "more", "or", "by", "in"):
        idle = previous in ("or", "to") and following in _NOT_COUNTED
        return previous not in ("this", "that", "which") and not idle
    return bool(following) and following not in _NOT_COUNTED and previous not in _NOT_ONE and following != "another"


def _amounts(text: str, atoms: list[Range], dates: frozenset[int]) -> Iterator[Range]:
    """Each number with its unit and label; numbers that only a joining word or mark parts become one range."""
    begin, reach = -1, -1
    for start, end in atoms:
        after = _AFTER.match(text, end) if _TAIL.match(text, end) else None
        stop = after.end() if after else end
        if text[end:stop].isspace():
            stop = end
        first = _label(text, start, start in dates)
        if begin >= 0 and (first <= reach or (start - reach <= 10 and _JOIN.fullmatch(text, reach, start))):
            reach = max(reach, stop)
            continue
        if begin >= 0:
            yield begin, reach
        begin, reach = first, stop
    if begin >= 0:
        yield begin, reach


def _label(text: str, start: int, date: bool) -> int:
    """Where the label, sign or currency before a number begins; the number's own start if there is none."""
    last = text[start - 1 : start] if not text[start - 1 : start].isspace() else text[start - 2 : start - 1]
    if not last or last.isdigit():
        return start
    if last.isalpha() or last in ".:":
        word = _WORD_BEFORE.search(text, max(0, start - 15), start)
        said = word[1].lower() if word else ""
        abbreviated = word is not None and bool(word[2])
        named = (
            said in _LABELS or (word is not None and word[1] in _CODES) or (abbreviated and said in ("no", "nos", "nr"))
        )
        if word and (
            (named and not date) or (said in ("between", "from", "minus", "plus", "negative") and not abbreviated)
        ):
            return word.start()
    sign = _SIGN_BEFORE.search(text, max(0, start - 6), start)
    return sign.start() if sign else start
