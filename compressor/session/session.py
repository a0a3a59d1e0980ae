"""Session: what an application keeps beside its message list."""

import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from threading import RLock
from typing import Any, Literal

from compressor.errors import CompressorError, InputError, PolicyError, SessionError
from compressor.formats.shapes import KNOWN_ROLES, chat
from compressor.memory import Memory, Slot
from compressor.pipeline import Compressor, load_scorer
from compressor.policy import POLICY_VERSION, Policy
from compressor.remembering import TurnMemory, recall, remember
from compressor.scoring.cache import CachedScorer
from compressor.session import saving
from compressor.session.incoming import copied, cut_all
from compressor.session.levels import LEVELS, Level
from compressor.session.options import SAVED, Rules
from compressor.session.packing import pack, rescore, unpack
from compressor.session.protocol import detail, whole_text, wire_of
from compressor.session.report import SessionReport
from compressor.session.state import State
from compressor.tokens import TokenCounter, as_counter, counter_name
from compressor.transcript import Turn
from compressor.words import SEGMENTATION


class Session:
    """A growing conversation of chat messages, compressed without rewriting what was sent before.

    Each turn stands at a level: verbatim, light, tight, protected (what no budget cuts), omitted. A turn only ever moves
    down, and every level is cut from the original. The last `keep_last` turns (default 4), user turns that ask, request
    or set a constraint, system turns and tool results stay verbatim.

    With `max_tokens` turns move when an `append` exceeds the budget, oldest and least valuable first, in one step down to
    `headroom` of the budget; until it is exceeded again every earlier byte of `messages()` stays. With `keep_ratio` or a
    preset a turn moves once, when it leaves the last `keep_last` turns: to the loosest level within that share of its
    tokens, or to that preset.

    Safe to use from several threads. A call that raises changes nothing.

    Args:
        policy: How much to keep and what to protect. Default: that of the compressor.
        model: A shipped model, a model folder, or `heuristic`.
        compressor: A compressor to use instead of `model` and `token_counter`.
        token_counter: How tokens are counted; see `Compressor`. Text alone, that of tool results included.
        on_overflow: What to do when what must stay exceeds `max_tokens`: `report` says so in the report, `raise` refuses the
            message with a SessionError, `omit` leaves out turns: where lowering comes no lower than halfway between
            `headroom` and the budget, the oldest turns that are not pinned, down to `headroom`; where even that exceeds
            the budget, the oldest pinned ones, down to halfway. All of them are listed in `memory.missing`. Where leaving
            a message out would break the order of roles, one word of it stays.
        headroom: The share of `max_tokens` that a step aims at, above 0 and at most 1.
        note_missing: Let `messages()` carry a system message of one line that lists the omitted turns, behind the
            system messages at the head. Not in a conversation that holds blocks of Anthropic's (tool_use, tool_result,
            thinking, image, document) and no system message, as its API takes none among the messages; one of
            Anthropic's that is text alone cannot be told from others. For that API leave it False and put `note` into
            the argument `system`.
        append_only: Never change a turn that `messages()` has returned, whatever the budget.
    Raises:
        PolicyError: An option is not allowed.
        ModelError: The model cannot be used.

    >>> session = Session(model="heuristic", policy=Policy(max_tokens=40, keep_last=1))
    >>> session.extend([
    ...     {"role": "user", "content": "Hi! Please book a table for 4 on Friday."},
    ...     {"role": "assistant", "content": "Sure, I am really happy to help you with that! It is the 7 pm table."},
    ...     {"role": "user", "content": "Thanks a lot. It must not cost more than 90 euros."},
    ... ])
    >>> [message["content"] for message in session.messages()][1]
    '7 pm table.'
    >>> session.memory.constraints[0].text
    'It must not cost more than 90 euros.'
    """

    def __init__(
        self,
        *,
        policy: Policy | None = None,
        model: str | Path = "default",
        compressor: Compressor | None = None,
        token_counter: TokenCounter | str | None = None,
        on_overflow: Literal["report", "raise", "omit"] = "report",
        headroom: float = 0.7,
        note_missing: bool = False,
        append_only: bool = False,
    ) -> None:
        loaded = compressor is None
        if compressor is None:
            compressor = Compressor(load_scorer(model), policy=policy, token_counter=token_counter)
        elif not isinstance(compressor, Compressor):
            raise PolicyError(f"compressor is {compressor!r}; allowed: None or a Compressor.")
        elif token_counter is not None:
            compressor = Compressor(
                compressor.scorer, policy=compressor.policy, token_counter=as_counter(token_counter)
            )
        policy = compressor.policy if policy is None else policy
        rules = Rules.of(policy, on_overflow, headroom, note_missing, append_only)
        scorer = compressor.scorer
        self._scorer = scorer if isinstance(scorer, CachedScorer) else CachedScorer(scorer)
        self._hits_before = self._scorer.hits
        self._counter = compressor.counter
        self._model = str(model) if loaded else None
        self._state = State(rules, self._count)
        self._originals: list[dict[str, Any]] = []
        self._slots: list[TurnMemory] = []
        self._known = set(KNOWN_ROLES)
        self._lock = RLock()

    @property
    def policy(self) -> Policy:
        """The policy in force."""
        return self._state.rules.policy

    def __len__(self) -> int:
        """How many messages were appended."""
        return len(self._originals)

    def append(self, message: Mapping[str, Any]) -> None:
        """Add one message of OpenAI's or Anthropic's shape. It is copied: changing it later changes nothing here.

        Raises:
            InputError: It is no message.
            SessionError: It breaks the order of tool calls and results, or the budget under `on_overflow="raise"`.
        """
        self.extend([message])

    def extend(self, messages: Iterable[Mapping[str, Any]]) -> None:
        """Add several messages, all or none. At most one step is taken, after the last.

        Raises:
            InputError: One is no message.
            SessionError: One breaks the order of tool calls and results, or all together break the budget under
                `on_overflow="raise"`.
        """
        if isinstance(messages, (str, bytes, Mapping)) or not isinstance(messages, Iterable):
            raise InputError(f"the messages are {type(messages).__name__}; allowed: a list of messages.")
        with self._lock:
            first = len(self._originals)
            added = [copied(message, number) for number, message in enumerate(messages, first)]
            if not added:
                return
            turns = [chat.read(one, at, (at,)) for at, one in enumerate(added, first)]
            wires = [wire_of(one, at) for at, one in enumerate(added, first)]
            calls = self._state.calls.after(wires, first)
            before = self._state.cuts[-1].turn if first else None
            cuts = cut_all(turns, before, first, self._scorer, self.policy, self._counter)
            self._state.add(cuts, wires, calls)
            self._originals += added
            self._warn(turns, first)

    def sync(self, messages: Sequence[Mapping[str, Any]]) -> int:
        """Take the application's whole list: its head has to be what was appended, the rest is added.

        Returns:
            How many messages were added.
        Raises:
            SessionError: A message that was appended has been edited or taken out since.
            InputError: A new one is no message.
        """
        messages = list(messages)
        with self._lock:
            for number, (known, given) in enumerate(zip(self._originals, messages, strict=False)):
                if known != given and known != copied(given, number):
                    raise SessionError(
                        f"turn {number} ({known['role']}) was edited after it was appended; allowed: the messages as they "
                        "were, with new ones behind them. Begin a new Session to change what was said."
                    )
            if len(messages) < len(self._originals):
                raise SessionError(
                    f"turn {len(messages)} is missing: the list has {len(messages)} messages, the session "
                    f"{len(self._originals)}; allowed: all messages so far, with new ones behind them."
                )
            added = messages[len(self._originals) :]
            self.extend(added)
            return len(added)

    def messages(self) -> list[dict[str, Any]]:
        """What to send now, as fresh dicts. The call is counted in the report."""
        with self._lock:
            return self._state.send()

    def originals(self) -> list[dict[str, Any]]:
        """The messages as they were appended, as fresh dicts."""
        with self._lock:
            return [copied(message, number) for number, message in enumerate(self._originals)]

    @property
    def levels(self) -> tuple[str, ...]:
        """The level of each turn, a name in `LEVELS`."""
        with self._lock:
            return tuple(LEVELS[level] for level in self._state.levels)

    @property
    def note(self) -> str:
        """One line that lists the omitted turns, counted from 0; empty if there are none."""
        with self._lock:
            return self._state.note

    @property
    def memory(self) -> Memory:
        """What the conversation asks, allows, names, quotes and counts, verbatim; and what was left out."""
        with self._lock:
            for number, cuts in enumerate(self._state.cuts[len(self._slots) :], len(self._slots)):
                self._slots.append(recall(cuts.view, number))
            missing = [
                self._missing(number) for number, level in enumerate(self._state.levels) if level == Level.OMITTED
            ]
            return remember(self._slots, missing)

    @property
    def report(self) -> SessionReport:
        """The session in numbers."""
        with self._lock:
            state = self._state
            budget = state.rules.policy.max_tokens
            over = 0 if budget is None else max(0, state.total - budget)
            found = Counter(LEVELS[level] for level in state.levels)
            return SessionReport(
                turns=len(state.cuts),
                pinned=sum(cuts.pinned for cuts in state.cuts),
                levels={name: found[name] for name in LEVELS},
                tokens_before=state.tokens_before,
                tokens_after=state.total,
                budget=budget,
                budget_met=not over,
                over_budget_by=over,
                steps=tuple(state.steps),
                calls=tuple(state.outputs.calls),
                cached_turns=self._scorer.hits - self._hits_before,
                notes=tuple(state.remarks()),
                token_counter=counter_name(self._counter),
                scorer=self._scorer.name,
                policy_version=POLICY_VERSION,
                segmentation=SEGMENTATION,
            )

    def save(self, path: str | Path) -> None:
        """Write the session to a file, whole or not at all; nothing of it is lost.

        Raises:
            SessionError: The policy holds a function.
            OSError: The file cannot be written.
        """
        with self._lock:
            rules = self._state.rules
            content = {
                "versions": saving.versions(self._scorer.name, counter_name(self._counter)),
                "model": self._model,
                "policy": saving.pack_policy(rules.policy),
                "options": {name: getattr(rules, name) for name in SAVED},
                "messages": self._originals,
                "state": pack(self._state),
            }
            text = saving.serialise(content)
        saving.write(path, text)

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        model: str | Path | None = None,
        compressor: Compressor | None = None,
        token_counter: TokenCounter | str | None = None,
        on_version: Literal["refuse", "rescore"] = "refuse",
    ) -> "Session":
        """The session that was saved to a file; it goes on exactly where it was.

        Args:
            model: The model to score with. Default: the one that the file names.
            compressor: A compressor to use instead; its policy is not used.
            token_counter: How tokens are counted. Default: the counter that the file names, if that is a built-in one.
            on_version: What to do if the file was made with another model, policy version, segmentation or token counter:
                `refuse`, or `rescore` all turns; no turn moves up then, and no deleted word comes back.
        Raises:
            SessionError: The file is no session, damaged, or made with other versions.
            OSError: The file cannot be opened.
        """
        if on_version not in ("refuse", "rescore"):
            raise PolicyError(f"on_version is {on_version!r}; allowed: 'refuse', 'rescore'.")
        content = saving.read(path)
        try:
            saved, known = content["versions"], content["model"]
            if compressor is None:
                model = known if model is None else model
                if model is None:
                    raise SessionError(
                        f"{path}: the session had a compressor of its own ({saved['scorer']}); give compressor or model."
                    )
            if token_counter is None and compressor is None:
                token_counter = saving.built_in(saved["token_counter"], path)
            session = cls(
                policy=saving.unpack_policy(content["policy"]),
                model=model if model is not None else "default",
                compressor=compressor,
                token_counter=token_counter,
                **content["options"],
            )
            here = saving.versions(session._scorer.name, counter_name(session._counter))
            other = [f"{name} {saved[name]!r}, here {here[name]!r}" for name in here if here[name] != saved[name]]
            if other and on_version == "refuse":
                raise SessionError(
                    f"{path}: saved with {'; '.join(other)}. Allowed: the same versions, or on_version='rescore'."
                )
            session._restore(content, rescored=bool(other))
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            if isinstance(error, CompressorError):
                raise
            raise SessionError(f"{path}: damaged: {type(error).__name__}: {error}; take a copy of the file.") from error
        return session

    def _restore(self, content: Mapping[str, Any], *, rescored: bool) -> None:
        self._originals = content["messages"]
        turns = [chat.read(message, number, (number,)) for number, message in enumerate(self._originals)]
        self._known.update(turn.role for turn in turns)
        if rescored:
            rescore(self._state, content["state"], self._originals, turns, self._scorer, self._counter)
        else:
            unpack(self._state, content["state"], self._originals, turns, self._scorer)
        self._hits_before = self._scorer.hits

    def _warn(self, turns: Sequence[Turn], first: int) -> None:
        """Name the first turn of each role that no provider knows."""
        for number, turn in enumerate(turns, first):
            if turn.role not in self._known:
                self._known.add(turn.role)
                warnings.warn(
                    f"turn {number}: unknown role {turn.role!r}; it is kept as it is.", UserWarning, stacklevel=3
                )

    def _missing(self, number: int) -> Slot:
        cuts, wire = self._state.cuts[number], self._state.wires[number]
        kind = "pinned" if cuts.pinned else "tool_call" if wire.calls else "tool_result" if wire.answers else "turn"
        text = whole_text(self._originals[number], cuts.turn.text)
        return Slot(kind, text, number, 0, len(text), cuts.turn.role, detail=detail(self._originals[number]))

    def _count(self, text: str) -> int:
        """The tokens of a note."""
        return self._counter(text)
