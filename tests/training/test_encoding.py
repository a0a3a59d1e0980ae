"""Words to windows of subwords and back."""

import numpy as np
import pytest

from compressor.scoring.encoding import SUBWORDS_A_WORD, TurnEncoder, gather, role_id
from compressor.scoring.weights import model_folder
from compressor.words import segment_text

TEXTS = [
    "He said: “no, 3.5 kg!” (really) <s> don't",
    "我不太可能去。ok 吗？ 3 号",
    "a\u200d\U0001f469\u200d\U0001f4bb b\r\n\tc \x00 d\u0301e \ud800 end",
    " ".join(f"word{n}," for n in range(400)),
    "苹果" * 700,
]


@pytest.fixture(scope="module")
def encoder() -> TurnEncoder:
    """The shipped tokenizer with the shipped windows."""
    return TurnEncoder(model_folder("default") / "tokenizer.json")


@pytest.mark.parametrize("text", TEXTS)
def test_every_subword_is_owned_by_one_window(encoder: TurnEncoder, text: str) -> None:
    """The owned ranges follow each other without a gap, and lie inside their windows."""
    encoded = encoder.encode(text, segment_text(text))
    at = 0
    for window in encoded.windows:
        assert window.owned[0] == at
        assert window.owned[1] - window.owned[0] == window.inner[1] - window.inner[0]
        assert 1 <= window.inner[0] <= window.inner[1] <= len(window.ids) - 1 <= 255
        at = window.owned[1]
    assert at == encoded.n_subwords


@pytest.mark.parametrize("text", TEXTS)
def test_a_subword_lies_on_its_word(encoder: TurnEncoder, text: str) -> None:
    """What a word's subwords are given comes back as the word's value."""
    words = segment_text(text)
    encoded = encoder.encode(text, words)
    values = np.linspace(0, 1, len(words))[:, None].repeat(4, axis=1)
    spread = encoded.spread(values)
    back = encoded.pool(spread, (np.nan,) * 4)
    alone = np.bincount(encoded.subwords, minlength=encoded.n_subwords)
    shared = np.unique(encoded.words[alone[encoded.subwords] > 1])
    own = np.setdiff1d(np.unique(encoded.words), shared)
    assert len(own) > 0
    np.testing.assert_allclose(back[own], values[own], atol=1e-9)


def test_gather_takes_the_owned_part(encoder: TurnEncoder) -> None:
    """In the middle of an overlap the value changes from one window to the next, once."""
    text = TEXTS[3]
    encoded = encoder.encode(text, segment_text(text))
    outputs = [np.full((len(window.ids), 4), number, dtype=np.float32) for number, window in enumerate(encoded.windows)]
    column = gather(encoded, outputs)[:, 0]
    assert len(encoded.windows) > 2
    assert (np.diff(column) >= 0).all()
    assert set(column) == set(range(len(encoded.windows)))


def test_a_long_word_costs_one_window(encoder: TurnEncoder) -> None:
    """At most so many subwords of one word enter the model, and its neighbours keep theirs."""
    text = "start " + "aB3" * 33_333 + " end"
    encoded = encoder.encode(text, segment_text(text))
    assert encoded.n_subwords <= SUBWORDS_A_WORD + 8
    assert set(encoded.words.tolist()) == {0, 1, 2}


def test_a_word_without_a_subword_gets_the_default(encoder: TurnEncoder) -> None:
    """Nothing is known of it, so it is kept."""
    encoded = encoder.encode("", [])
    assert encoded.windows == ()
    assert encoded.pool(np.empty((0, 4)), (1, 1, 0, 0)).shape == (0, 4)


def test_marks_of_the_model_in_the_text_are_unknown_pieces(encoder: TurnEncoder) -> None:
    """`<s>` written in a turn is no start of a window."""
    (window,) = encoder.encode("a <s> b </s>", segment_text("a <s> b </s>")).windows
    assert window.ids[0] == 0
    assert window.ids[-1] == 2
    assert (window.ids[1:-1] >= 3).all()


def test_roles() -> None:
    """Names that mean the same share an id; unknown ones are none."""
    assert role_id("developer") == role_id("system")
    assert role_id("function") == role_id("tool")
    assert role_id("narrator") == role_id("none")
