"""The asynchronous session: the loop runs on, calls keep their order."""

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path

from compressor import AsyncSession, Compressor, Policy, Session
from compressor.scoring import Scores
from compressor.scoring.heuristic import HeuristicScorer
from compressor.transcript import Turn
from compressor.words import Word
from tests.fakes import word_counter
from tests.session.test_session import talk


class SlowScorer(HeuristicScorer):
    """Takes its time, as a model does."""

    name = "slow"

    def score(self, turns: Sequence[Turn], words: Sequence[Sequence[Word]]) -> list[Scores]:
        time.sleep(0.2)
        return super().score(turns, words)


def test_the_loop_runs_on_while_a_message_is_scored() -> None:
    """Ticks are counted meanwhile."""

    async def main() -> int:
        session = AsyncSession(Session(compressor=Compressor(SlowScorer(), token_counter=word_counter)))
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0.01)
                ticks += 1

        ticking = asyncio.create_task(tick())
        await session.append({"role": "user", "content": "Where is room 7?"})
        ticking.cancel()
        assert len(session) == 1
        return ticks

    assert asyncio.run(main()) >= 5


def test_calls_keep_their_order_and_every_method_is_there(tmp_path: Path) -> None:
    """Also when they are begun all at once; a file can be loaded."""

    async def main() -> None:
        session = await AsyncSession.create(model="heuristic", policy=Policy(max_tokens=80, keep_last=1))
        await asyncio.gather(*(session.append(message) for message in talk(6)))
        assert await session.originals() == talk(6)
        await session.extend(talk(1))
        assert await session.sync([*talk(6), *talk(1), {"role": "user", "content": "Where?"}]) == 1
        output = await session.messages()
        assert len(output) == 15
        assert (await session.report()).turns == 15
        assert (await session.memory()).intents
        await session.save(tmp_path / "s.json")
        loaded = await AsyncSession.load(tmp_path / "s.json")
        assert await loaded.messages() == output

    asyncio.run(main())


def test_a_session_may_move_to_another_loop() -> None:
    """As in scripts that call asyncio.run() more than once."""
    session = AsyncSession(Session(model="heuristic"))
    for message in talk(2):
        asyncio.run(session.append(message))
    assert asyncio.run(session.originals()) == talk(2)
