"""What a growing conversation costs: how much of each call a provider's cache has seen, and the time per append.

    python -m benchmarks.session [--turns 200] [--budget 4000] [--model default] [--appends 100 1000 10000] [--json FILE]

One conversation a language is joined from the annotated chats of `training/data/synthetic`, in an order drawn by the seed.
Before each turn of the assistant the messages so far are sent, in each of these ways:

- `session`            a Session with the budget; `session, omit` leaves turns out where that is not enough
- `everything`         all messages as they are
- `trimming`           the oldest messages dropped until the rest fits
- `summarising`        at each overflow all but the last turns replaced by a summary. A stand-in: as many words of the old
                       text as the summary may have, so the figures say what it costs, not what it keeps; making the
                       summary is not counted
- `compressing anew`   every call compressed from the original with the budget

`cached` is the share of the bytes, or tokens, sent which stood unchanged at the head of the call before (whole messages
for tokens). `pins kept` are the user turns with a request, question or constraint that are verbatim in the last call.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from compressor import Compressor, Policy, Session
from compressor.evaluation.cases import read_annotated
from compressor.evaluation.drift import grow
from compressor.formats import dump
from compressor.scoring.cache import CachedScorer
from compressor.session.report import common
from compressor.words import segment_text

CHATS = Path(__file__).resolve().parents[1] / "training" / "data" / "synthetic"
KEEP_LAST = 4

Messages = list[dict[str, Any]]
Strategy = Callable[[Messages], Messages]
"""From all messages so far to those that are sent; called before each turn of the assistant."""


def conversation(lang: str, turns: int, seed: int) -> Messages:
    """A chat of so many turns in one language, made of many."""
    chats = [
        dialogue
        for dialogue in read_annotated([CHATS])
        if dialogue.lang == lang and {turn.role for turn in dialogue.transcript} == {"user", "assistant"}
    ]
    return [{"role": turn.role, "content": turn.text} for turn in grow(chats, turns, seed).transcript]


def simulate(messages: Messages, strategy: Strategy, count: Callable[[str], int], budget: int) -> dict[str, Any]:
    """Send a conversation call by call.

    Returns:
        `calls`, `tokens` sent, shares `cached_bytes` and `cached_tokens`, calls `over` the budget, `largest` call in tokens,
        `pins_kept` (share), `seconds`.
    """
    before: Messages = []
    sent = cached = sent_bytes = cached_bytes = over = largest = calls = 0
    output: Messages = []
    start = time.perf_counter()
    for end, message in enumerate(messages):
        if message["role"] != "assistant":
            continue
        output = strategy(messages[:end])
        costs = [count(one["content"]) for one in output]
        same = next((at for at, (one, two) in enumerate(zip(output, before, strict=False)) if one != two), None)
        same = min(len(output), len(before)) if same is None else same
        calls, sent, cached = calls + 1, sent + sum(costs), cached + sum(costs[:same])
        largest, over = max(largest, sum(costs)), over + (sum(costs) > budget)
        now, old = dump(output).encode(), dump(before).encode()
        sent_bytes, cached_bytes = sent_bytes + len(now), cached_bytes + common(now, old)
        before = output
    seconds = time.perf_counter() - start
    return {
        "calls": calls,
        "tokens": sent,
        "cached_bytes": cached_bytes / sent_bytes,
        "cached_tokens": cached / sent,
        "over": over,
        "largest": largest,
        "pins_kept": kept_pins(messages[:end], output),
        "seconds": seconds,
    }


def kept_pins(messages: Messages, output: Messages) -> float:
    """The share of pinned user turns that are verbatim in an output."""
    session = Session(model="heuristic")
    session.extend(messages)
    pins = [message["content"] for message, cuts in zip(messages, session._state.cuts, strict=True) if cuts.pinned]
    there = {message["content"] for message in output}
    return sum(text in there for text in pins) / len(pins)


def with_session(compressor: Compressor, budget: int, **options: Any) -> Strategy:
    session = Session(
        compressor=compressor, policy=Policy(max_tokens=budget, keep_last=KEEP_LAST, floor="masks"), **options
    )

    def send(messages: Messages) -> Messages:
        session.sync(messages)
        return session.messages()

    return send


def trimming(count: Callable[[str], int], budget: int) -> Strategy:
    def send(messages: Messages) -> Messages:
        first, total = len(messages), 0
        while first and total + count(messages[first - 1]["content"]) <= budget:
            first -= 1
            total += count(messages[first]["content"])
        while first < len(messages) - 1 and messages[first]["role"] != "user":
            first += 1
        return messages[first:]

    return send


def summarising(count: Callable[[str], int], budget: int, words: int = 200) -> Strategy:
    summary: Messages = []
    first = 0

    def send(messages: Messages) -> Messages:
        nonlocal summary, first
        if sum(count(one["content"]) for one in [*summary, *messages[first:]]) > budget:
            old = " ".join(one["content"] for one in [*summary, *messages[first:-KEEP_LAST]])
            places = segment_text(old)[:words]
            summary = [{"role": "user", "content": old[: places[-1][1]]}] if places else []
            first = len(messages) - KEEP_LAST
        return [*summary, *messages[first:]]

    return send


def anew(compressor: Compressor, budget: int) -> Strategy:
    policy = {"max_tokens": budget, "keep_last": KEEP_LAST, "floor": "masks"}
    return lambda messages: compressor.compress(messages, **policy).messages


def time_appends(sizes: Sequence[int], budget: int) -> list[dict[str, Any]]:
    """Milliseconds of an append around each size, with the heuristic: what the session adds to the model's time."""
    rows = []
    for overflow in ("report", "omit"):
        session = Session(
            model="heuristic", policy=Policy(max_tokens=budget, floor="masks"), on_overflow=overflow  # type: ignore[arg-type]
        )  # fmt: skip
        seconds: list[float] = []
        for number in range(max(sizes)):
            role = ("user", "assistant")[number % 2]
            text = f"Well, I looked at room {number} again, and the view of the sea was quite lovely, you know. "
            message = {"role": role, "content": text + ("Where is it?" if number % 8 == 0 else "I liked it.")}
            start = time.perf_counter()
            session.append(message)
            seconds.append(time.perf_counter() - start)
            if number + 1 in sizes:
                window = seconds[-min(len(seconds), max(50, (number + 1) // 2)) :]
                start = time.perf_counter()
                session.messages()
                rows.append(
                    {
                        "overflow": overflow,
                        "turns": number + 1,
                        "mean_ms": 1000 * statistics.mean(window),
                        "median_ms": 1000 * statistics.median(window),
                        "worst_ms": 1000 * max(window),
                        "messages_ms": 1000 * (time.perf_counter() - start),
                        "steps": len(session.report.steps),
                    }
                )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--turns", type=int, default=200)
    parser.add_argument("--budget", type=int, default=4000, help="tokens of a call, by the estimate")
    parser.add_argument("--langs", nargs="*", default=["en", "zh"])
    parser.add_argument("--model", default="default", help="`default`, a folder, or `heuristic`")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--appends", type=int, nargs="*", default=[100, 1000, 10_000], help="sizes at which appends are timed"
    )
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    given = parser.parse_args()
    loaded = Compressor.from_pretrained(given.model)
    compressor = Compressor(CachedScorer(loaded.scorer), token_counter=loaded.counter)
    count = compressor.counter
    rows: list[dict[str, Any]] = []
    for lang in given.langs:
        messages = conversation(lang, given.turns, given.seed)
        total = sum(count(message["content"]) for message in messages)
        print(
            f"\n{lang}: {len(messages)} turns, {total} tokens, budget {given.budget}, keep_last {KEEP_LAST}, floor masks\n"
        )
        print(
            "| way | tokens sent | bytes cached | tokens cached | uncached tokens | calls over budget | largest call | pins kept | s |"
        )
        print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
        ways: dict[str, Strategy] = {
            "session": with_session(compressor, given.budget),
            "session, omit": with_session(compressor, given.budget, on_overflow="omit"),
            "everything": lambda so_far: so_far,
            "trimming": trimming(count, given.budget),
            "summarising": summarising(count, given.budget),
            "compressing anew": anew(compressor, given.budget),
        }
        for name, strategy in ways.items():
            row = simulate(messages, strategy, count, given.budget)
            rows.append({"lang": lang, "way": name} | row)
            print(
                f"| {name} | {row['tokens']} | {row['cached_bytes']:.1%} | {row['cached_tokens']:.1%} "
                f"| {row['tokens'] * (1 - row['cached_tokens']):.0f} | {row['over']} of {row['calls']} | {row['largest']} "
                f"| {row['pins_kept']:.0%} | {row['seconds']:.1f} |",
                flush=True,
            )
    appends = time_appends(given.appends, given.budget) if given.appends else []
    if appends:
        print(
            "\n| on_overflow | turns | mean ms | median ms | worst ms | messages() ms | steps |\n|---|---:|---:|---:|---:|---:|---:|"
        )
    for row in appends:
        print(
            f"| {row['overflow']} | {row['turns']} | {row['mean_ms']:.2f} | {row['median_ms']:.2f} | {row['worst_ms']:.1f} "
            f"| {row['messages_ms']:.1f} | {row['steps']} |"
        )
    if given.json:
        given.json.write_text(json.dumps({"ways": rows, "appends": appends}, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
