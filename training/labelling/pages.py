"""A page to cut in: deleted words stand in `<del>`; and back from a page that somebody edited.

Every page of `CompressionResult.diff("html")` can be read. `<del>` cuts from both levels, `<del class="tight">` from
`tight` alone.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from html.parser import HTMLParser
from pathlib import Path

import numpy as np

from training.labelling.errors import LabelError
from training.labelling.levels import Level, labelled, one_level
from training.labelling.opinion import Opinion
from training.labelling.records import Cut, Labelled, Mask, Range, Raw, is_fixed

_STRUCK = ("del", "s", "strike")
_HEAD = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Transcripts to cut</title><style>
body { font: 16px/1.6 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
.w { cursor: pointer; } .w:hover { background: #eee; }
del { color: #b00020; } del.tight { color: #b06000; text-decoration-style: dotted; }
button { position: sticky; top: 0; }
</style></head><body>
<p>Click a word: <span>kept</span>, then <del class="tight">cut from the tight level only</del>, then <del>cut</del>.
Save when you are done. <button type="button" id="save">Save the page</button></p>
"""
_TAIL = """<script>
document.addEventListener("click", (event) => {
  const word = event.target.closest(".w");
  if (!word) return;
  const kept = word.localName === "span", tight = word.classList.contains("tight");
  const next = document.createElement(kept || tight ? "del" : "span");
  next.className = kept ? "w tight" : "w";
  next.textContent = word.textContent;
  word.replaceWith(next);
});
document.getElementById("save").addEventListener("click", () => {
  const page = new Blob(["<!DOCTYPE html>\\n" + document.documentElement.outerHTML], { type: "text/html" });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(page);
  link.download = "cut.html";
  link.click();
});
</script></body></html>
"""


@dataclass(slots=True)
class Talk:
    """A conversation as a page shows it.

    Args:
        id: `data-id` of its element, or an empty string.
        both: Whether the page shows both levels, even if no word is cut from `tight` alone.
        turns: The characters of each turn without white space, and for each how it is struck out: 0 not, 1 from tight
            alone, 2 from both.
    """

    id: str = ""
    both: bool = False
    turns: list[list[tuple[str, int]]] = field(default_factory=list)


def write_page(path: Path, raws: Sequence[Raw], opinions: Iterable[Opinion]) -> int:
    """Write one page to click in, filled in with what the model would cut. Returns the conversations."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", errors="surrogatepass") as file:
        file.write(_HEAD)
        for raw, opinion in zip(raws, opinions, strict=True):
            file.write(
                f'<div class="compression" data-levels="both" data-id="{escape(raw.id)}">\n<h2>{escape(raw.id)}</h2>\n'
            )
            for number, (turn, cut) in enumerate(zip(raw.transcript, opinion.cuts, strict=True)):
                body = "".join(_body(turn.text, raw.words(number), cut, is_fixed(turn)))
                label = escape(turn.speaker or turn.role)
                file.write(f'<p><b>{label}</b> <span style="white-space:pre-wrap">{body}</span></p>\n')
            file.write("</div>\n")
        file.write(_TAIL)
    return len(raws)


def read_page(path: Path) -> list[Talk]:
    """The conversations of an edited page.

    Raises:
        LabelError: The file cannot be read, or shows no conversation.
    """
    reader = _Reader()
    try:
        reader.feed(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        raise LabelError(f"{path}: {error}. Save the page in UTF-8.") from error
    reader.close()
    if not reader.talks:
        raise LabelError(f'{path}: no conversation in it; allowed: a page with <div class="compression">.')
    return reader.talks


def from_talk(raw: Raw, talk: Talk, level: Level, opinion: Opinion, path: Path) -> Labelled:
    """The record that an edited conversation describes.

    Args:
        level: What `<del>` says where no word is cut from `tight` alone.
    Raises:
        LabelError: The text of the page is not the transcript's; names record, turn and place.
    """
    where = f"{path}, record {raw.id}"
    if len(talk.turns) != len(raw.transcript):
        raise LabelError(f"{where}: the page shows {len(talk.turns)} turns, the transcript has {len(raw.transcript)}.")
    both = talk.both or any(struck == 1 for turn in talk.turns for _, struck in turn)
    cuts: list[Cut] = []
    for number, (turn, shown) in enumerate(zip(raw.transcript, talk.turns, strict=True)):
        solid = [at for at, char in enumerate(turn.text) if not char.isspace()]
        _same(where, number, [turn.text[at] for at in solid], [char for char, _ in shown])
        struck = np.zeros(len(turn.text), np.int64)
        struck[solid] = [level_ for _, level_ in shown]
        words = raw.words(number)
        light, tight = (_kept(struck < least, words) for least in (2, 1))
        cuts.append(Cut.of(light, tight) if both else one_level(light, level, opinion.cuts[number]))
    return labelled(raw, cuts, opinion, "edits in a page")


def find_talk(talks: Sequence[Talk], number: int, raw: Raw, path: Path) -> Talk:
    """The conversation of a record: by its id, or by its number where the page has no ids.

    Raises:
        LabelError: The page does not hold it.
    """
    if any(talk.id for talk in talks):
        found = [talk for talk in talks if talk.id == raw.id]
        if len(found) != 1:
            raise LabelError(f"{path}: record {raw.id} is in the page {len(found)} times; allowed: once.")
        return found[0]
    if number >= len(talks):
        raise LabelError(f"{path}: the page holds {len(talks)} conversations; there is none for record {raw.id}.")
    return talks[number]


def _body(text: str, words: Sequence[Range], cut: Cut, fixed: bool) -> Iterator[str]:
    if fixed:
        yield escape(text)
        return
    at = 0
    for (start, end), light, tight in zip(words, cut.light, cut.tight, strict=True):
        tag, name = ("span", "w") if tight else ("del", "w tight") if light else ("del", "w")
        yield f'{escape(text[at:start])}<{tag} class="{name}">{escape(text[start:end])}</{tag}>'
        at = end
    yield escape(text[at:])


def _kept(chars: Mask, words: Sequence[Range]) -> Mask:
    """The words of which at least half the characters stay."""
    return np.array([bool(chars[start:end].mean() >= 0.5) for start, end in words], np.bool_)


def _same(where: str, number: int, source: Sequence[str], shown: Sequence[str]) -> None:
    if list(source) == list(shown):
        return
    at = next((n for n, (a, b) in enumerate(zip(source, shown, strict=False)) if a != b), min(len(source), len(shown)))
    raise LabelError(
        f"{where}: the text of turn {number} was changed: the transcript has {''.join(source[at : at + 20])!r} where the "
        f"page has {''.join(shown[at : at + 20])!r} (white space left out). Only mark words, do not write or remove them."
    )


class _Reader(HTMLParser):
    """Collects conversations, their turns, and what is struck out."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.talks: list[Talk] = []
        self._struck: list[int] = []
        self._depth = 0  # of <div> inside a conversation
        self._label = self._labelled = self._turn = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag == "div":
            if self._depth:
                self._depth += 1
            elif "compression" in (values.get("class") or "").split():
                self._depth = 1
                self.talks.append(Talk(values.get("data-id") or "", values.get("data-levels") == "both"))
        elif self._depth and tag == "p":
            self.talks[-1].turns.append([])
            self._turn, self._label, self._labelled, self._struck = True, False, False, []
        elif self._turn and tag == "b" and not self._labelled and not self.talks[-1].turns[-1]:
            self._label = self._labelled = True
        elif self._turn and tag in _STRUCK:
            self._struck.append(1 if "tight" in (values.get("class") or "").split() else 2)

    def handle_endtag(self, tag: str) -> None:
        if tag == "div" and self._depth:
            self._depth -= 1
            self._turn = self._turn and self._depth > 0
        elif tag == "p":
            self._turn = False
        elif tag == "b":
            self._label = False
        elif tag in _STRUCK and self._struck:
            self._struck.pop()

    def handle_data(self, data: str) -> None:
        if self._turn and not self._label:
            struck = max(self._struck, default=0)
            self.talks[-1].turns[-1].extend((char, struck) for char in data if not char.isspace())
