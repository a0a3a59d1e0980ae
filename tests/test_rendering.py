"""What a reader sees once words are gone: punctuation, spaces and lines."""

import numpy as np
import pytest

from compressor import Transcript, Turn
from compressor.marks import find_marks
from compressor.rendering import render
from compressor.words import segment


def without(text: str, *deleted: str) -> str:
    """The text after deleting each word of the given phrases, one occurrence each, from the front."""
    transcript = Transcript((Turn(text=text),))
    words = segment(transcript)
    marks = find_marks(transcript, words, np.zeros(len(words), np.bool_))
    gone: set[int] = set()
    for phrase in deleted:
        start = next(at for at in range(len(text)) if text.startswith(phrase, at) and at not in gone)
        gone.update(range(start, start + len(phrase)))
    chosen = np.array([word.start not in gone for word in words], np.bool_) & ~marks.follows
    return render(transcript, words, marks.close(chosen)).turns[0].text


@pytest.mark.parametrize(
    ("text", "deleted", "expected"),
    [
        ("Well, you know, the pump runs.", ["Well", "you know"], "the pump runs."),
        ("The pump, as I said, runs.", ["as I said"], "The pump, runs."),
        ("It runs well, I think.", ["I think"], "It runs well."),
        ("It runs at full load today.", ["at full load today"], "It runs."),
        ("Thanks! It runs. Bye!", ["Thanks", "Bye"], "It runs."),
        ("Is it really, really ready?", ["really, really"], "Is it, ready?"),
        ("Ask Dr. Faber (the nurse) now.", ["the nurse"], "Ask Dr. Faber now."),
        ("See apples, pears, etc. in the hall.", ["in the hall"], "See apples, pears, etc."),
        ("See apples, pears, etc. in the hall.", ["apples, pears, etc"], "See, in the hall."),
        ("Use the **very big** hammer.", ["very big"], "Use the hammer."),
        ("Use the **very big** hammer.", ["very"], "Use the **big** hammer."),
        ('He said "no way" twice.', ["no way"], "He said twice."),
        ("one - two - three", ["two"], "one - three"),
        ("It costs 64, and I should say that is a guess, it may rise.", ["I should say that is a guess"], "It costs 64, and it may rise."),
        ("Wait... what happened?", ["Wait"], "what happened?"),
        ("I said: bring a coat.", ["I said"], "bring a coat."),
        ("a + b = c", ["b"], "a c"),
        ("Here you go:\n\n- first item\n- second item\n\nBye now!", ["first item"], "Here you go:\n\n- second item\n\nBye now!"),
        ("Steps\n1. wash it\n2. dry it\n3. fold it", ["dry it"], "Steps\n1. wash it\n3. fold it"),
        ("# Title here\n\nSome text.", ["Title here"], "Some text."),
        ("- one\n  - two\n  - three", ["two"], "- one\n  - three"),
        ("So, first line\nsecond line", ["So", "first line"], "second line"),
        ("keep\r\nlose\r\nkeep", ["lose"], "keep\r\nkeep"),
        ("one\n\n\nlost\ntwo", ["lost"], "one\n\n\ntwo"),
        ("double  space  here", ["space"], "double here"),
        ("trailing word\n", ["word"], "trailing\n"),
        ("  lead in words", ["lead"], "in words"),
        ("well that 's not so", ["well that"], "that 's not so"),
        ("嗯，那个，我们明年不太可能量产。", ["嗯", "那个"], "我们明年不太可能量产。"),
        ("好的，没问题。票已经没有了。", ["好的", "没问题"], "票已经没有了。"),
        ("嗯,那个,iPhone比较贵,然后MacBook便宜", ["嗯,那个", "然后"], "iPhone比较贵,MacBook便宜"),
        ("他说(其实)GPT很好", ["其实"], "他说GPT很好"),
        ("用Python写Java代码", ["写"], "用Python写Java代码"),
        ("第3章5节", ["章"], "第3章5节"),
        ("他说（其实）可以。", ["其实"], "他说可以。"),
        ("我 check 完 PR", ["check"], "我 完 PR"),
    ],
)  # fmt: skip
def test_deleting_leaves_clean_text(text: str, deleted: list[str], expected: str) -> None:
    """Marks go with their words, spaces with the stretch, markers with their line."""
    assert without(text, *deleted) == expected


def test_everything_deleted_leaves_nothing() -> None:
    """A text of which no word is left is empty, white space included."""
    assert without("So, well...\n\n- um!", "So", "well", "um") == ""


def test_blocks_are_rendered_apart() -> None:
    """Each block of a message keeps its own range, and the separator between them stays."""
    turn = Turn("user", None, "um one\n\nuh two", blocks=((0, 6), (8, 14)))
    transcript = Transcript((turn,))
    words = segment(transcript)
    keep = np.array([False, True, False, True])
    output = render(transcript, words, keep).turns[0]
    assert output.text == "one\n\ntwo"
    assert [output.text[start:end] for start, end in output.blocks] == ["one", "two"]
