"""Compressors to compare with, none of which looks at meaning: each chooses words of the source."""

import re
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from compressor.evaluation.outputs import Output, word_tokens
from compressor.rendering import render
from compressor.selection import Mask
from compressor.transcript import Transcript
from compressor.words import Word, is_mark, segment

# Written for this project: the function words that stop lists agree on, negations and quantifiers among them.
_LISTED = """
a about above after again against all also am an and any are aren't as at be because been before
being below between both but by can can't cannot could couldn't did didn't do does doesn't doing
don't down during each few for from further had hadn't has hasn't have haven't having he her here
hers herself him himself his how i i'd i'll i'm i've if in into is isn't it it's its itself just
let's me more most must mustn't my myself no nor not now of off on once only or other our ours
ourselves out over own same shall she should shouldn't so some such than that that's the their
theirs them themselves then there there's these they they're this those through to too under until
up very was wasn't we we'll we're we've were weren't what when where which while who whom why will
with won't would wouldn't you you'd you'll you're you've your yours yourself
的 了 着 过 地 得 是 在 我 你 您 他 她 它 我们 你们 他们 这 那 这个 那个 也 就 都 很
和 与 及 或 吗 呢 吧 啊 呀 嘛 哦 嗯 哈 一 个 有 没有 不 没 把 被 让 给 从 到 对 向
为 以 于 而 但 如果 因为 所以 会 能 可以 要 应该 必须
"""
STOP_WORDS = frozenset(_LISTED.split())

_SENTENCE_END = re.compile(r"[.!?…。！？；]")

Chooser = Callable[[Sequence[str], Sequence[Word], NDArray[np.int64], float, np.random.Generator], Mask]
"""(texts, words, tokens of each word, tokens to keep, random numbers) → which words stay."""


def keep_newest(
    texts: Sequence[str], words: Sequence[Word], costs: NDArray[np.int64], limit: float, rng: np.random.Generator
) -> Mask:
    """Truncation: the last words that fit, as chat clients drop what is oldest."""
    kept: Mask = np.cumsum(costs[::-1])[::-1] <= limit
    return kept


def keep_random(
    texts: Sequence[str], words: Sequence[Word], costs: NDArray[np.int64], limit: float, rng: np.random.Generator
) -> Mask:
    """Random deletion: words in random order until the next one would not fit."""
    order = rng.permutation(len(words))
    mask = np.zeros(len(words), np.bool_)
    mask[order[np.cumsum(costs[order]) <= limit]] = True
    return mask


def drop_stop_words(
    texts: Sequence[str], words: Sequence[Word], costs: NDArray[np.int64], limit: float, rng: np.random.Generator
) -> Mask:
    """All but stop words; it knows no limit."""
    return np.array([text.casefold().replace("’", "'") not in STOP_WORDS for text in texts], np.bool_)


def keep_central_sentences(
    texts: Sequence[str], words: Sequence[Word], costs: NDArray[np.int64], limit: float, rng: np.random.Generator
) -> Mask:
    """Sentence extraction: the sentences nearest the centroid of all, by TF-IDF, that fit.

    Source: Radev et al. (2004), Centroid-based summarization of multiple documents.
    """
    sentences = split_sentences(texts, words)
    bags = [Counter(texts[i].casefold() for i in own if not is_mark(texts[i])) for own in sentences]
    spread = Counter(term for bag in bags for term in bag)
    idf = {term: np.log(1 + len(bags) / n) for term, n in spread.items()}
    vectors = [{term: n * idf[term] for term, n in bag.items()} for bag in bags]
    centroid: dict[str, float] = defaultdict(float)
    for vector in vectors:
        for term, weight in vector.items():
            centroid[term] += weight
    ranked = sorted(range(len(bags)), key=lambda number: (-_cosine(vectors[number], centroid), number))
    mask = np.zeros(len(words), np.bool_)
    spent = 0
    for number in ranked:
        cost = int(costs[list(sentences[number])].sum())
        if spent + cost <= limit:
            mask[list(sentences[number])] = True
            spent += cost
    return mask


CHOOSERS: Mapping[str, Chooser] = MappingProxyType(
    {
        "truncation": keep_newest,
        "random": keep_random,
        "stopwords": drop_stop_words,
        "sentences": keep_central_sentences,
    }
)
"""Every baseline but `none` by its name."""


def run_baseline(name: str, source: Transcript, limit: float, seed: str) -> Output:
    """Compress with a baseline.

    Args:
        limit: Most tokens to keep, as a number of tokens of `outputs.tokens`.
        seed: Names the random numbers; the same for the same transcript.
    """
    words = segment(source)
    texts = [source.turns[word.turn].text[word.start : word.end] for word in words]
    rng = np.random.default_rng(zlib.crc32(seed.encode("utf-8", "surrogatepass")))
    keep = CHOOSERS[name](texts, words, word_tokens(texts), limit, rng)
    return Output(tuple(turn.text for turn in render(source, words, keep)), aligned=True, rewrites=False, keep=keep)


def split_sentences(texts: Sequence[str], words: Sequence[Word]) -> list[range]:
    """The words of each sentence, as ranges of their numbers: to a full stop, or to the end of the turn."""
    ends = [
        number + 1
        for number, (text, word) in enumerate(zip(texts, words, strict=True))
        if number + 1 == len(words)
        or words[number + 1].turn != word.turn
        or (is_mark(text) and _SENTENCE_END.search(text) is not None)
    ]
    return [range(start, end) for start, end in zip([0, *ends], ends, strict=False)]


def _cosine(vector: Mapping[str, float], other: Mapping[str, float]) -> float:
    dot = sum(weight * other[term] for term, weight in vector.items())
    norm = float(np.sqrt(sum(weight**2 for weight in vector.values()) * sum(weight**2 for weight in other.values())))
    return dot / norm if norm else 0.0
