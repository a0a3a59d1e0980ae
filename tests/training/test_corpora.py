"""Readers and records."""

from pathlib import Path

import numpy as np
import pytest

from training.config import ConfigError, read_config
from training.corpora.annotated import CorpusError, read_folder
from training.corpora.conll import MASKED, detokenise, example, sentences
from training.examples import read_examples, write_examples

CONFIGS = Path(__file__).resolve().parents[2] / "training" / "configs"


def test_tokens_are_written_as_people_do() -> None:
    """Marks stick to their words, contractions to theirs, and offsets point at the tokens."""
    tokens = [(token, "O") for token in 'He ca n\'t , said " Ann " ( 5 % ) @ colgo !'.split()]
    text, spans = detokenise(tokens)
    assert text == 'He can\'t, said "Ann" (5%) @colgo!'
    assert [text[a:b] for a, b, _ in spans] == [token for token, _ in tokens]


def test_names_are_labelled_and_the_rest_is_unknown() -> None:
    """The entity head learns 0 and 1, nothing where the set is silent, and no other head learns."""
    (tokens,) = sentences(["Ann B-PER", "likes O", f"jazz {MASKED}", ". O", ""])
    record = example("set", 0, tokens)
    np.testing.assert_array_equal(record.labels[0][:, 2], [1, 0, np.nan, 0])
    assert np.isnan(record.labels[0][:, [0, 1, 3]]).all()


def test_examples_come_back_from_json(annotated_folder: Path, tmp_path: Path) -> None:
    """Written and read, every field is the same."""
    examples = list(read_folder(annotated_folder))
    write_examples(tmp_path / "examples.jsonl", examples)
    for before, after in zip(examples, read_examples(tmp_path / "examples.jsonl"), strict=True):
        assert (before.id, before.words, before.intents, before.transcript) == (
            after.id,
            after.words,
            after.intents,
            after.transcript,
        )
        for left, right in zip(before.labels, after.labels, strict=True):
            np.testing.assert_allclose(left, right, atol=1e-4)


def test_a_bad_record_is_named(tmp_path: Path) -> None:
    """File, line and reason."""
    (tmp_path / "bad.jsonl").write_text(
        '{"id": "x", "lang": "en", "turns": [{"role": "user", "text": "a b", "light": "c", "tight": ""}]}\n'
    )
    with pytest.raises(CorpusError, match=r"bad\.jsonl, line 1"):
        list(read_folder(tmp_path))


def test_an_unknown_key_is_refused(tmp_path: Path) -> None:
    """A misspelt option never trains with its default."""
    path = tmp_path / "config.toml"
    path.write_text('name = "x"\nbase = "y"\nepoch = 3\n')
    with pytest.raises(ConfigError, match="epoch"):
        read_config(path)


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*.toml")), ids=lambda path: path.stem)
def test_shipped_configs_are_read(path: Path) -> None:
    """Every file in configs/ is valid."""
    assert read_config(path).name
