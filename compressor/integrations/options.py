"""What adapters are built with: a policy, a model or a compressor, a token counter."""

from dataclasses import fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from compressor.errors import PolicyError
from compressor.pipeline import Compressor, load_scorer
from compressor.policy import Policy
from compressor.scoring import Scorer
from compressor.scoring.cache import CachedScorer
from compressor.tokens import TokenCounter


@lru_cache(maxsize=4)
def shared_scorer(model: str | Path) -> Scorer:
    """The scorer of a shipped model, a model folder, or `heuristic`: loaded once a process, with the scores of what it met.

    Raises:
        ModelError: The folder cannot be used.
    """
    return CachedScorer(load_scorer(model))


def compressor_of(
    compressor: Compressor | None, model: str | Path, policy: Policy | None, token_counter: TokenCounter | str | None
) -> Compressor:
    """The compressor that an adapter was given, or one of the options that it was given instead.

    Args:
        compressor: Wins over the model.
        policy, token_counter: Win over those of the compressor.
    Raises:
        ModelError: The model cannot be used.
        PolicyError: The policy, the token counter or the compressor is not allowed.
    """
    if compressor is None:
        return Compressor(shared_scorer(model), policy=policy, token_counter=token_counter)
    if not isinstance(compressor, Compressor):
        raise PolicyError(f"compressor is {compressor!r}; allowed: None or a Compressor.")
    return Compressor(
        compressor.scorer,
        policy=compressor.policy if policy is None else policy,
        token_counter=compressor.counter if token_counter is None else token_counter,
    )


def with_budget(policy: Policy | None, compressor: Compressor | None, option: str, max_tokens: int) -> Policy:
    """The policy that an adapter was given, or that of its compressor, with the budget that an option of its own sets.

    Raises:
        PolicyError: The policy that was given has a preset or a budget, or the budget is not allowed.
    """
    for name in ("preset", "keep_ratio", "max_tokens"):
        if policy is not None and getattr(policy, name) is not None:
            raise PolicyError(f"policy has {name}; allowed: a policy without a budget, since {option} is the budget.")
    base = policy or (compressor.policy if isinstance(compressor, Compressor) else Policy())
    return replace(base, preset=None, keep_ratio=None, max_tokens=max_tokens)


def policy_of(given: Any) -> Policy | None:
    """The policy of a component that is also built from what it was written as.

    Args:
        given: None, a `Policy`, or a dict of its options.
    Raises:
        PolicyError: It is something else, or an option is unknown or not allowed.
    """
    if isinstance(given, dict):
        return Policy.of(**given)
    if given is not None and not isinstance(given, Policy):
        raise PolicyError(f"policy is {given!r}; allowed: None, a Policy or a dict of its options.")
    return given


def policy_options(policy: Policy | None) -> dict[str, Any] | None:
    """The options of a policy that are not the default, as plain values; `policy_of` reads them.

    Raises:
        PolicyError: It holds a rule that is a pattern or a function, which cannot be written.
    """
    if policy is None:
        return None
    for rule in policy.also_protect:  # type: ignore[union-attr]
        if not isinstance(rule, str):
            raise PolicyError(
                f"also_protect holds {rule!r}, which cannot be written; allowed: names of built-in rules."
            )
    default = Policy()
    options = {field.name: getattr(policy, field.name) for field in fields(Policy)}
    changed = {name: value for name, value in options.items() if value != getattr(default, name)}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in changed.items()}
