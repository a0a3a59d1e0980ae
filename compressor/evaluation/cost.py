"""Cost: seconds and memory, and a measure of the machine to compare them across machines."""

import statistics
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from compressor.evaluation.bootstrap import Bootstrap
from compressor.evaluation.cases import Dialogue
from compressor.evaluation.outputs import Output, tokens


def cost(dialogues: Sequence[Dialogue], outputs: Sequence[Output], bootstrap: Bootstrap) -> dict[str, Any]:
    """Tokens kept, seconds for one transcript and for 1,000 source tokens, and the peak memory of the process so far.

    Each transcript was compressed alone, one after the other.
    """
    source = [sum(tokens(turn.text) for turn in dialogue.transcript) for dialogue in dialogues]
    kept = [output.tokens for output in outputs]
    seconds = [output.seconds for output in outputs]
    return {
        "tokens_before": sum(source),
        "tokens_after": sum(kept),
        "kept_ratio": bootstrap.share(kept, source).to_dict(),
        "seconds_median": round(statistics.median(seconds), 5) if seconds else None,
        "seconds_per_1000_tokens": round(1000 * sum(seconds) / sum(source), 5) if sum(source) else None,
        "cpu_seconds_per_1000_tokens": _cpu_speed(outputs, source),
        "peak_mebibytes": peak_memory(),
    }


def _cpu_speed(outputs: Sequence[Output], source: Sequence[int]) -> float | None:
    """The median over transcripts, so that what is loaded by the first one does not count."""
    speeds = [
        1000 * output.cpu_seconds / n for output, n in zip(outputs, source, strict=True) if n and output.cpu_seconds
    ]
    return round(statistics.median(speeds), 5) if speeds else None


def peak_memory() -> float | None:
    """The most memory that this process held so far, in MiB; None where the system does not say."""
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # bytes on macOS, KiB elsewhere
    return round(peak / (2**20 if sys.platform == "darwin" else 2**10), 1)


def reference_seconds(repeats: int = 5) -> float:
    """Processor seconds for a fixed piece of work, the least of some tries: the unit of the gate's speed bound.

    Half of it is Python over text, half numpy on one core: threads that wait for each other would spoil the clock.
    """
    matrix = np.random.default_rng(0).standard_normal((384, 384)).astype(np.float32)
    text = "the fee is not refundable unless you cancel within 14 days " * 2000
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        seen: dict[str, int] = {}
        for word in text.split(" "):
            seen[word] = seen.get(word, 0) + len(word)
        for _ in range(10):
            matrix = np.tanh(matrix)
        best = min(best, time.process_time() - start)
    return best
