"""Code and other text for programs: it is kept whole, because one lost word breaks all of it."""

import re
from collections.abc import Iterable, Iterator

from compressor.protection.view import View
from compressor.structure import Range, lines

_FENCE = re.compile(r"(?:^[ \t>]{0,64}(?P<wave>~{3,})|(?P<tick>`{3,}))(?P<info>[^`\r\n]{0,64}(?=\r?$))?", re.MULTILINE)
_TICKS = re.compile(r"`+|\n")

_JSON_START = re.compile(r"[{\[](?=\s{0,64}[\"'\[\]{}\dtfnTFN-])")
_TOKEN = re.compile(
    r"\s*(?:(?P<text>\"(?:[^\"\\]|\\.)*+\"|'(?:[^'\\\n]|\\.)*+')|(?P<open>[\[{])|(?P<close>[\]}])|(?P<colon>:)|(?P<comma>,)"
    r"|(?P<atom>-?\d[\d.eE+-]*+(?!\w)|(?:true|false|null|True|False|None|NaN)\b))",
    re.DOTALL,
)
_CLOSABLE = ("key", "item", "comma", "again")
_PARTNER = {"}": "{", "]": "["}
# Strings without an end, before the search for JSON is given up: each is read to the end of the text.
_PATIENCE = 32
# Data that the end of the turn cuts off counts from this length on.
_CUT_OFF = 40

_RULED = re.compile(r"--|-[ \t]*\||[│├┌└╭╰║╔╚─━═]")
_RULE_ROW = re.compile(r"[ \t>|:+=-]*-[ \t>|:+=-]*")
_BOXED = re.compile(r"[ \t]*+(?:[│├┌└╭╰║╔╚|+](?=.*[│┤┐┘╮╯║╗╝|+][ \t]*$)|[─━═]{3})")

_TAG = re.compile(
    r"<(?:/?[A-Za-z][\w:.-]{0,64}(?:\s[^<>]{0,2000})?/?|!--[^<>]{0,2000}--|![A-Z][^<>]{0,200}|\?[^<>]{0,200}\?)>"
)
_DOLLARS = re.compile(
    r"(?<![\\$])\$\$(?!\$)([^$]{1,4000})\$\$|(?<![\\$\w])\$(?![\s$])([^$\n]{1,400})(?<![\s\\])\$(?![\w$])"
)
_MATHS = re.compile(r"[\\^_=+{}<>*]|^[A-Za-z]'?$|[A-Za-z]\(")
_CALL = re.compile(
    r"(?<=[A-Za-z0-9_>\]])\([^\s()]{0,200}\)|\w::\w|\w->\w|[=!<>]==?|=>|&&|\|\||[{}];?(?=\s{0,8}$)", re.MULTILINE
)

_DATE = r"(?:\d{4}[-/]\d\d[-/]\d\d|\d\d[-/]\d\d[-/]\d{4}|(?:[A-Z][a-z]{2} )?[A-Z][a-z]{2} [ \d]\d)"
_TIME = rf"{_DATE}(?:T|,? )\d\d:\d\d(?::\d\d)?"
_LOUD_LEVEL = "(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL|SEVERE)"
_LEVEL = f"(?:{_LOUD_LEVEL}|ALERT|EMERG|{_LOUD_LEVEL.lower()})"
_PROGRAMS = (
    "npm|npx|yarn|pnpm|pip3?|python3?|git|docker|kubectl|cargo|go|make|curl|wget|ssh|scp|cd|ls|cat|rm|cp|mv|sudo|apt|brew"
    "|node|bash|sh|grep|sed|awk|tar|chmod|psql|mysql|terraform|helm"
)
_LINE = re.compile(
    rf"^[ \t>]*+(?:"
    rf"[\[(]?{_TIME}(?:[.,]\d{{3,9}}|Z|[ ]?[+-]\d\d:?\d\d)[\])]?\s.*"  # a time with fractions or a zone
    rf"|[\[(]?{_TIME}[\])]?[^a-z\n]{{0,24}}[\[(<]?\b{_LEVEL}\b.*"
    rf"|[\[(]?(?:{_TIME}|\d\d:\d\d:\d\d(?:[.,]\d{{1,9}})?)[\])]? +(?:[\[(<|-] ?)?{_LEVEL}\b.*"
    rf"|{_TIME} [\w.-]{{1,64}} [\w./-]{{1,64}}(?:\[\d{{1,9}}\])?: .*"  # syslog
    rf"|[\[(]?{_LOUD_LEVEL}[\])]?(?::[ \t]|[ \t]{{1,4}}[\[(]).*"
    r"|(?:\d{1,3}\.){3}\d{1,3} - \S{1,64} \[.*"  # a web server's access log
    r"|at [\w.$<>\[\]]{1,200} ?\(.*\)|at (?:\S{1,400}):\d+:\d+|Caused by: .*|\.\.\. \d+ more"
    r"|(?P<place>File \"[^\"\n]*\", line \d+.*)"
    r"|Traceback \(most recent call last\):.*|Exception in thread .*|thread '.*' panicked at .*|goroutine \d+ \[.*"
    r"|(?:[\w.]{0,80}\.)?[A-Z]\w{0,60}(?:Error|Exception|Warning|Interrupt)(?:: .*|$)"
    r"|[\w./\\-]{1,200}:\d+(?::\d+)?: .*|(?:error|warning)\[\w+\]: .*"  # a compiler's message, a search hit
    r"|\$ \S.*|>>> .*|\.\.\. (?=.*[=(:]).*|PS [A-Z]:\\.*|[A-Z]:\\[^>\n]{0,200}>.*"
    r"|[\w.-]{1,64}@[\w.-]{1,64}:[^\s$#]{0,200}[$#] .*"
    rf"|> (?:{_PROGRAMS}) .*"
    r"|diff --git .*|--- a/.*|\+\+\+ b/.*|@@ -\d.*"
    r")",
    re.MULTILINE,
)
_SOURCE = re.compile(r"\r?\n(?: {4}|\t)[^\r\n]*")
# No line of source that somebody wrote is longer.
_LONG = 1000
# A line that is source code beyond doubt, and one that may be next to such a line.
_STRONG = re.compile(
    r"[ \t]*+(?!\d+[.)] |[-*] )(?:[^\n]*[\w)\]\"'};(]\s?[;{}]|[^\n]*\)[ \t]?[:{]"
    r"|[^\n]*[\w\])\"'] (?:=|\+=|-=|:=|=>|->) [^\n]*|[)\]}]+[;,]?"
    r"|(?:def|class|func|fn|function|struct|enum|interface|impl) \w+[^\n]*[({:][^\n]*|from [\w.]+ import [^\n]*"
    r"|(?:import|using|package|#include|require) [\w.\"<{*][^\n ]*|#![^\n]*"
    r"|(?<=    )(?:(?:for|if|elif|while|with|except|match|case) [^\n]*:|[\w.]+\([^()\n]*\))"
    r"|(?:const|let|var|val|public|private|static|async) [^\n]*[=(:;.][^\n]*"
    r"|(?:SELECT|INSERT INTO|UPDATE|DELETE FROM|CREATE|ALTER|DROP|FROM|WHERE|GROUP BY|ORDER BY"
    r"|(?:LEFT |INNER |RIGHT )?JOIN) [^\n]*)[ \t]*+$",
    re.MULTILINE,
)
_CODELIKE = re.compile(
    r" {4}|\t|[ \t]*+(?:(?:return|await|yield|raise|assert)\b|(?:else|try|finally):"
    r"|(?:except|elif|if|for|while|with)\b.*:$|print\("
    r"|[\w.]+\([^()\n]*\)[;,]?$|(?://|#|--) |/?\*+[ /]|<\/?\w.*>$|@\w+)"
)
_SURE = re.compile(
    r"[;{}:][ \t]*$|^[ \t]*+(?:[)\]}]|[A-Z]{4,} |import |from |#)|[\w\])\"'] (?:=|\+=|-=|:=|=>|->) ", re.MULTILINE
)


def code(view: View) -> Iterable[Range]:
    """Fenced and inline code, JSON, tables, tags, formulas, shell lines, stack traces, log lines and bare code.

    A fence that is never closed runs to the end of the turn. A mark without its partner protects nothing else.
    """
    text = view.text
    yield from _fences(text)
    if "`" in text:
        yield from _inline(text)
    if "{" in text or "[" in text:
        yield from _json(text)
    if "<" in text:
        yield from (tag.span() for tag in _TAG.finditer(text))
    if "$" in text:
        yield from _formulas(text)
    if "\\" in text:
        yield from _between(text, "\\(", "\\)")
        yield from _between(text, "\\[", "\\]")
        yield from _between(text, "\\begin{", "\\end{")
    yield from (call.span() for call in _CALL.finditer(text))
    yield from _records(text)
    if _RULED.search(text):
        yield from _tables(text)
    if _SURE.search(text):
        yield from _programs(text)


def _fences(text: str) -> Iterator[Range]:
    """A fence opens where nothing but the name of a language follows on its line; a run as long closes it."""
    opened, at = "", 0
    for fence in _FENCE.finditer(text):
        marks = fence["wave"] or fence["tick"]
        if opened:
            if marks[0] == opened[0] and len(marks) >= len(opened):
                yield at, fence.end("wave" if fence["wave"] else "tick")
                opened = ""
        elif fence["info"] is not None:
            opened, at = marks, fence.start()
    if opened:
        yield at, len(text)


def _inline(text: str) -> Iterator[Range]:
    """Each run of backticks goes with the next one of its length on the same line."""
    runs = list(_TICKS.finditer(text))
    partner: list[int] = [0] * len(runs)
    latest: dict[int, int] = {}
    for number in range(len(runs) - 1, -1, -1):
        if runs[number].group() == "\n":
            latest = {}
        else:
            length = len(runs[number].group())
            partner[number] = latest.get(length, 0)
            latest[length] = number
    number = 0
    while number < len(runs):
        if partner[number]:
            yield runs[number].start(), runs[partner[number]].end()
            number = partner[number]
        number += 1


def _json(text: str) -> Iterator[Range]:
    """Objects and arrays, the outermost that are whole; read in one pass, as a wrong token ends all that are open."""
    at, vain = 0, 0
    while vain < _PATIENCE and (start := _JSON_START.search(text, at)):
        at = start.start()
        opened: list[int] = []
        whole: list[Range] = []
        expect = "value"
        while token := _TOKEN.match(text, at):
            kind = token.lastgroup or ""
            if kind == "open" and expect in ("value", "item"):
                opened.append(token.start("open"))
                expect = "key" if token["open"] == "{" else "item"
            elif kind == "close" and expect in _CLOSABLE and opened and text[opened[-1]] == _PARTNER[token["close"]]:
                begin = opened.pop()
                while whole and whole[-1][0] > begin:
                    whole.pop()
                whole.append((begin, token.end()))
                expect = "comma"
            elif kind == "text" and expect in ("key", "again") and text[opened[-1]] == "{":
                expect = "colon"
            elif kind in ("text", "atom") and expect in ("value", "item"):
                expect = "comma"
            elif kind == "colon" and expect == "colon":
                expect = "value"
            elif kind == "comma" and expect == "comma":
                expect = "again" if text[opened[-1]] == "{" else "item"
            else:
                break
            at = token.end()
            if not opened:
                break
        else:
            vain += at < len(text) and text[at] in "\"'"
            if at >= len(text.rstrip()) and len(opened) > 0 and at - opened[0] > _CUT_OFF:
                whole = [(opened[0], len(text))]
        yield from whole
        at = max(at, start.end())


def _formulas(text: str) -> Iterator[Range]:
    for formula in _DOLLARS.finditer(text):
        if formula[1] or _MATHS.search(formula[2]):
            yield formula.span()


def _between(text: str, opening: str, closing: str) -> Iterator[Range]:
    start = text.find(opening)
    while start >= 0:
        end = text.find(closing, start + len(opening))
        if end < 0:
            return
        yield start, end + len(closing)
        start = text.find(opening, end + len(closing))


def _records(text: str) -> Iterator[Range]:
    """Lines of logs, traces, compilers and shells, and the line of source that a trace shows under its place."""
    for record in _LINE.finditer(text):
        yield record.span()
        if record["place"]:
            source = _SOURCE.match(text, record.end())
            if source:
                yield source.span()


def _tables(text: str) -> Iterator[Range]:
    """The neighbouring rows around each rule of dashes, and drawn boxes."""
    rows = list(lines(text))
    last = -1
    for number, row in enumerate(rows):
        boxed = number + 1 < len(rows) and _BOXED.match(text, *row) and _BOXED.match(text, *rows[number + 1])
        if number <= last or not (boxed or _is_rule(text, row)):
            continue
        first = last = number
        while first > 0 and _is_row(text, rows[first - 1]) and _adjoin(text, rows[first - 1], rows[first]):
            first -= 1
        while last + 1 < len(rows) and _is_row(text, rows[last + 1]) and _adjoin(text, rows[last], rows[last + 1]):
            last += 1
        if last > first:
            yield rows[first][0], rows[last][1]


def _is_rule(text: str, row: Range) -> bool:
    return text.find("|", *row) >= 0 and _RULE_ROW.fullmatch(text, *row) is not None


def _is_row(text: str, row: Range) -> bool:
    return text.find("|", *row) >= 0 or _BOXED.match(text, *row) is not None


def _adjoin(text: str, row: Range, following: Range) -> bool:
    return text.count("\n", row[1], following[0]) <= 1


def _programs(text: str) -> Iterator[Range]:
    """Runs of neighbouring lines of source code that stand without a fence, half of them unmistakable."""
    block: list[tuple[Range, bool]] = []
    for row in [*lines(text), (len(text), len(text))]:
        line = text[row[0] : min(row[1], row[0] + _LONG)]
        strong = _STRONG.match(line) is not None
        if line and (strong or _CODELIKE.match(line)) and (not block or _adjoin(text, block[-1][0], row)):
            block.append((row, strong))
            continue
        if len(block) > 1 and sum(sure for _, sure in block) * 3 >= len(block):
            yield block[0][0][0], block[-1][0][1]
        block = [(row, strong)] if line and (strong or _CODELIKE.match(line)) else []
