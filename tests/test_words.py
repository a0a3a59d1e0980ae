"""Cutting text into words, sentences and clauses."""

import pytest

from compressor.structure import clauses, sentences
from compressor.words import is_mark, segment_text


def cut(text: str) -> list[str]:
    return [text[start:end] for start, end in segment_text(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello, (world).", ["Hello", ",", "(", "world", ")", "."]),
        ("3.5 -5 .5 5% $5 1,250", ["3.5", "-5", ".5", "5%", "$5", "1,250"]),
        ("don't and/or user@host foo(bar) C++", ["don't", "and/or", "user@host", "foo(bar)", "C++"]),
        ("(f(x)) g(y).", ["(", "f(x)", ")", "g(y)", "."]),
        ("'tis ’24 'hi'", ["'tis", "’24", "'", "hi", "'"]),
        ("that 's it 'T shirt'", ["that", "'s", "it", "'", "T", "shirt", "'"]),
        ("wait... what?!", ["wait", "...", "what", "?", "!"]),
        ("**bold** __init__", ["**", "bold", "**", "__", "init", "__"]),
        ("x—y —z", ["x—y", "—", "z"]),
        ("-> <br> a|b |", ["->", "<br>", "a|b", "|"]),
        ("🏳️‍🌈 8️⃣ cafe\u0301", ["🏳️‍🌈", "8️⃣", "cafe\u0301"]),
        ("\u2066a@b.c\u2069.", ["\u2066", "a@b.c", "\u2069", "."]),
        ("x\x00y \ud800", ["x\x00y", "\ud800"]),
        ("", []),
        (" \r\n\t\u3000", []),
    ],
)  # fmt: skip
def test_edge_punctuation_is_separate_and_nothing_inside_is_cut(text: str, expected: list[str]) -> None:
    """A run loses the marks at its edges and is otherwise one word."""
    assert cut(text) == expected


def test_chinese_is_cut_into_pieces_and_marks() -> None:
    """Pieces of the shipped tokenizer, full-width marks alone, other scripts whole."""
    text = "除非拿到书面同意，否则不得转让G7031次（3.5元）。"
    words = cut(text)
    assert "".join(words) == text
    assert {"除非", "不得", "转让", "，", "G7031", "（", "3.5", "）", "。"} <= set(words)


@pytest.mark.parametrize("char", ["x", "\\", "不", ")", "(", "'", ".", "a.b "])
def test_long_runs_are_cut_whole(char: str) -> None:
    """A hundred thousand characters go through, none lost."""
    text = char * 100_000
    assert "".join(cut(text)) == text.replace(" ", "")


@pytest.mark.parametrize(
    ("word", "mark"), [(",", True), ("**", True), ("->", True), ("€", False), ("👍", False), ("x", False), ("5", False)]
)
def test_marks_are_told_from_words(word: str, mark: bool) -> None:
    """Punctuation alone is a mark; currency signs and pictographs are words."""
    assert is_mark(word) is mark


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hi Mr. Smith. I said so, e.g. now. Ok!", ["Hi Mr. Smith.", "I said so, e.g. now.", "Ok!"]),
        ("No. The right one. See no. 5 there.", ["No.", "The right one.", "See no. 5 there."]),
        ("At 3 p.m. Then go. At 3 p.m. then go.", ["At 3 p.m.", "Then go.", "At 3 p.m. then go."]),
        ("It is 3.5 bar. v2.1.01 runs.", ["It is 3.5 bar.", "v2.1.01 runs."]),
        ("1. wash it\n2. dry it", ["1. wash it", "2. dry it"]),
        ("one\n\ntwo", ["one", "two"]),
        ("这款产品不是很差，但是不太可能。真的吗？好！", ["这款产品不是很差，但是不太可能。", "真的吗？", "好！"]),
        ('She said "go." Then left.', ['She said "go."', "Then left."]),
        (
            "This line of prose is long enough to have been wrapped by some editor\nand goes on here. End",
            ["This line of prose is long enough to have been wrapped by some editor\nand goes on here.", "End"],
        ),
        ("", []),
    ],
)
def test_sentences_end_at_their_marks(text: str, expected: list[str]) -> None:
    """Not at abbreviations, decimals or list markers; at line ends unless prose was wrapped."""
    assert [text[start:end] for start, end in sentences(text)] == expected


def test_clauses_end_at_commas_colons_dashes_and_brackets() -> None:
    """Clauses come without their marks."""
    text = "First, the pump (left) runs: it stops - then not，好的"
    found = [text[start:end] for start, end in clauses(text, 0, len(text))]
    assert found == ["First", "the pump", "left", "runs", "it stops", "then not", "好的"]
