"""Shortens retrieved texts under one budget: what the document adapters of the frameworks have in common."""

from collections.abc import Sequence
from dataclasses import replace

from compressor.pipeline import Compressor
from compressor.transcript import Transcript, Turn


def shorten(texts: Sequence[str], compressor: Compressor) -> list[str | None]:
    """Delete the low-signal words of several texts at once.

    The texts share the budget of the compressor's policy: the best words of all of them stay. Scores depend on a text
    alone, never on a query or on the other texts, so under a preset the same text comes out the same for every query.

    Args:
        texts: In the order of retrieval. May be empty.
        compressor: With the policy in force. `emptied`: by default a text keeps a word; with `drop` it is left out.
    Returns:
        One entry a text: what is left of it, or None where it is to be left out.
    """
    policy = compressor.policy
    if policy.emptied == "auto":
        policy = replace(policy, emptied="word")
    source = Transcript(tuple(Turn("none", None, text) for text in texts))
    output = Compressor(compressor.scorer, policy=policy, token_counter=compressor.counter).compress(source)
    return [None if turn.extra.get("dropped") else turn.text for turn in output.transcript.turns]
