"""What engines send to their workers: how the compressor is made there, and the checks that need no data."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from compressor.errors import PolicyError
from compressor.pipeline import Compressor
from compressor.policy import Policy
from compressor.tables import load_compressor
from compressor.tokens import TokenCounter, as_counter

Maker = Callable[[], Compressor]


def compressor_maker(
    compressor: Maker | None,
    model: str | Path,
    policy: Policy | None,
    token_counter: TokenCounter | str | None,
    threads: int,
) -> Maker:
    """The function that makes the compressor on a worker; its model is loaded once a process.

    Args:
        compressor: A function of the caller's that does it, instead of model, policy and token_counter.
    Raises:
        PolicyError: Both are given, or an option is not allowed.
    """
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise PolicyError(f"threads is {threads!r}; allowed: a whole number, 1 or more.")
    if compressor is None:
        if not isinstance(model, (str, Path)):
            raise PolicyError(f"model is {type(model).__name__}; allowed: the name of a model or a folder.")
        if policy is not None and not isinstance(policy, Policy):
            raise PolicyError(f"policy is {policy!r}; allowed: None or a Policy, such as Policy(keep_ratio=0.5).")
        as_counter(token_counter)
        return partial(load_compressor, model, policy=policy, token_counter=token_counter, threads=threads)
    if isinstance(compressor, Compressor) or not callable(compressor):
        raise PolicyError(
            f"compressor is {type(compressor).__name__}; allowed: a function that makes a Compressor on the worker, "
            "because a loaded model does not travel."
        )
    given = {"model": model != "default", "policy": policy is not None, "token_counter": token_counter is not None}
    both = [name for name, value in given.items() if value]
    if both:
        raise PolicyError(f"compressor and {', '.join(both)} are given together; the compressor has its own.")
    return compressor
