"""A scorer without a model: fillers and function words score low, rare and long words high.

It serves tests, and users who cannot ship weights. It knows no names and no requests: those come from the rules alone.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from compressor.scoring import Scores
from compressor.transcript import Turn
from compressor.words import Word

# Written for this project: spoken fillers and courtesy, then articles, copulas, pronouns and particles.
_FILLERS = frozenset(
    "um uh er erm hmm mm ah oh well okay ok yeah yep right sure so like actually basically honestly literally really just"
    " thanks thank hello hi hey please sorry great awesome lovely absolutely certainly 嗯 啊 呃 哦 哈 呀 嘛 呢 吧 啦 那个 这个 就是 就是说"
    " 谢谢 你好 您好 好的 请问 哈哈 其实 然后".split()
)
_FUNCTION = frozenset(
    "a an the is are was were be been being am i you he she it we they me him us them my your his its our their this that"
    " these those of to in on at as and do does did have has had there here which who 的 了 着 过 地 得 是 在 我 你 您 他 她 它 我们 你们"
    " 他们 这 那 也 就 都 很".split()
)


class HeuristicScorer:
    """Scores a word by its kind, its length and how often it occurs in its turn."""

    name = "heuristic-1"

    def thresholds(self, turn: Turn) -> Mapping[str, float]:
        """See `Scorer.thresholds`."""
        return {"light": 0.3, "tight": 0.3, "entity": 0.5, "pin": 0.5}

    def score(self, turns: Sequence[Turn], words: Sequence[Sequence[Word]]) -> list[Scores]:
        """See `Scorer.score`. Entity and pin are always 0."""
        return [self._score(turn, own) for turn, own in zip(turns, words, strict=True)]

    def _score(self, turn: Turn, words: Sequence[Word]) -> Scores:
        texts = [turn.text[word.start : word.end].casefold() for word in words]
        seen = Counter(texts)
        light = np.array([self._value(text, seen[text]) for text in texts], np.float32)
        nothing = np.zeros(len(words), np.float32)
        return Scores(light, np.maximum(light - np.float32(0.2), np.float32(0)), nothing, nothing)

    def _value(self, text: str, count: int) -> float:
        if text in _FILLERS:
            return 0.05
        if text in _FUNCTION:
            return 0.35
        return min(0.95, 0.55 + 0.04 * min(len(text), 8) - 0.02 * min(count - 1, 5))
