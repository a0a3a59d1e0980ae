"""Every shared fixture."""

import pytest

from compressor import Compressor
from compressor.scoring.heuristic import HeuristicScorer
from tests.fakes import word_counter


@pytest.fixture(scope="session")
def heuristic() -> Compressor:
    """A compressor without a model, that counts words."""
    return Compressor(HeuristicScorer(), token_counter=word_counter)


@pytest.fixture(scope="session")
def shipped() -> Compressor:
    """A compressor with the shipped model."""
    return Compressor.from_pretrained("default")


@pytest.fixture
def chat() -> list[dict[str, object]]:
    """A short chat with a system turn, a request, courtesy, and a constraint."""
    return [
        {"role": "system", "content": "You help with orders. Never quote prices."},
        {"role": "user", "content": "Hi there! I need 3 chairs delivered to Graz before 9 June, please."},
        {
            "role": "assistant",
            "content": "Sure, I would be happy to help you with that! The chairs can be delivered on 7 June.",
        },
        {"role": "user", "content": "Great, thanks a lot. But only if Dorotea signs."},
        {
            "role": "assistant",
            "content": "Of course, no problem at all, thank you so much for letting me know about it.",
        },
        {"role": "user", "content": "ok"},
    ]
