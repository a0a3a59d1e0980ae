"""From shorter texts to labels."""

import numpy as np
import pytest

from compressor.words import segment_text
from training.corpora.annotated import read_record
from training.labels import AlignmentError, align, entity_words, find_intent, inside, kept_words


def cut(text: str, light: str, tight: str) -> tuple[list[str], list[str]]:
    """The words that survive each edit."""
    words = segment_text(text)
    kept = kept_words(text, light, tight, words)
    pick = [
        [text[a:b] for (a, b), value in zip(words, kept[:, column], strict=True) if value >= 0.5] for column in (0, 1)
    ]
    return pick[0], pick[1]


def test_alignment_takes_the_fewest_runs() -> None:
    """Of two equal words the one beside its neighbours was kept, not the first."""
    assert align("the cat the dog".split(), "the dog".split()) == [2, 3]


def test_alignment_takes_the_earliest_on_a_tie() -> None:
    """Where nothing else decides, the first."""
    assert align(list("abcab"), list("ab")) == [0, 1]
    assert align("no no no".split(), ["no"]) == [0]


def test_alignment_is_the_best_of_all() -> None:
    """On random strings, no other alignment has fewer runs, or as few and comes earlier."""
    from itertools import combinations

    chance = np.random.default_rng(0)
    for _ in range(200):
        source = list(chance.choice(list("ab"), size=chance.integers(1, 9)))
        kept = [
            source[i] for i in sorted(chance.choice(len(source), chance.integers(0, len(source) + 1), replace=False))
        ]
        every = [list(c) for c in combinations(range(len(source)), len(kept)) if [source[i] for i in c] == kept]
        runs = [(sum(1 for i, p in enumerate(places) if i == 0 or places[i - 1] + 1 != p), places) for places in every]
        assert align(source, kept) == min(runs)[1]


def test_alignment_refuses_what_was_not_there() -> None:
    """A shorter text with a new word is no deletion."""
    with pytest.raises(AlignmentError):
        align(["a", "b"], ["b", "a"])


def test_words_survive_with_their_marks() -> None:
    """Punctuation is aligned as words of its own."""
    light, tight = cut(
        "Well, thanks. The fee is not due, only the tax.", "The fee is not due, only the tax.", "fee not due, only tax."
    )
    assert light == ["The", "fee", "is", "not", "due", ",", "only", "the", "tax", "."]
    assert tight == ["fee", "not", "due", ",", "only", "tax", "."]


def test_chinese_is_aligned_by_characters() -> None:
    """A word of which half the characters survive scores a half."""
    text = "我们明天见面"
    words = segment_text(text)
    kept = kept_words(text, "我明天见", "明天", words)
    chars = np.concatenate([np.full(b - a, value) for (a, b), value in zip(words, kept[:, 0], strict=True)])
    assert chars.sum() == pytest.approx(4)
    assert (kept[:, 1] <= kept[:, 0] + 1e-6).all()


def test_an_edit_inside_a_word_is_aligned_by_characters() -> None:
    """An annotator who cut a word's tail leaves a fraction, not an error."""
    text = "the twenty-six cats"
    assert kept_words(text, "twenty cats", "cats", segment_text(text))[:, 0].tolist() == pytest.approx([0, 0.6, 1])


def test_entities_are_found_everywhere_and_whole() -> None:
    """Each occurrence counts, a part of a longer word does not."""
    text = "Also Al met Al's boss, Al."
    assert entity_words(text, ["Al"], segment_text(text)).tolist() == [0, 1, 0, 1, 0, 0, 1, 0]


def test_intents_cover_their_words() -> None:
    """A pinned sentence labels its words and no others."""
    text = "Hello. Can you come? Bye."
    span = find_intent(text, " Can you come? ")
    assert span == (7, 20)
    assert inside([span], segment_text(text)).tolist() == [0, 0, 1, 1, 1, 1, 0, 0]


def test_unsure_words_have_no_label() -> None:
    """Only in the level that is named."""
    levels = {"text": "um fee not due", "light": "fee not due", "tight": "fee not due"}
    turn = {"role": "user", **levels, "unsure": {"tight": [[3, 10]]}}
    labels = read_record({"id": "a", "lang": "en", "turns": [turn]}).labels[0]
    assert labels[:, 0].tolist() == [0, 1, 1, 1]
    assert np.isnan(labels[:, 1]).tolist() == [False, True, True, False]
