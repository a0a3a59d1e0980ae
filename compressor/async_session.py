"""A session for asynchronous code: the work runs in a thread of its own, in the order of the calls."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

from compressor.memory import Memory
from compressor.pipeline import Compressor
from compressor.session import Session, SessionReport
from compressor.tokens import TokenCounter

T = TypeVar("T")


class AsyncSession:
    """A `Session` whose calls are awaited and never block the event loop.

    Calls are carried out one after the other, in the order in which they were begun, whichever loop they come from. A call
    that is cancelled while it waits is not carried out; one that has begun is, to its end.

    Args:
        session: The session behind it, which may be used directly too.
    """

    def __init__(self, session: Session) -> None:
        from concurrent.futures import ThreadPoolExecutor  # it and asyncio are slow to import, and few need them

        self.session = session
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="compressor-session")

    @classmethod
    async def create(cls, **options: Any) -> "AsyncSession":
        """A new session; the options are those of `Session`. The model is loaded in a thread."""
        import asyncio

        return cls(await asyncio.to_thread(lambda: Session(**options)))

    @classmethod
    async def load(
        cls,
        path: str | Path,
        *,
        model: str | Path | None = None,
        compressor: Compressor | None = None,
        token_counter: TokenCounter | str | None = None,
        on_version: Literal["refuse", "rescore"] = "refuse",
    ) -> "AsyncSession":
        """A session from a file; see `Session.load`."""
        import asyncio

        options: dict[str, Any] = {"model": model, "compressor": compressor, "token_counter": token_counter}
        return cls(await asyncio.to_thread(lambda: Session.load(path, on_version=on_version, **options)))

    def __len__(self) -> int:
        """How many messages were appended."""
        return len(self.session)

    async def append(self, message: Mapping[str, Any]) -> None:
        """See `Session.append`."""
        await self._run(lambda: self.session.append(message))

    async def extend(self, messages: Iterable[Mapping[str, Any]]) -> None:
        """See `Session.extend`."""
        await self._run(lambda: self.session.extend(messages))

    async def sync(self, messages: Sequence[Mapping[str, Any]]) -> int:
        """See `Session.sync`."""
        return await self._run(lambda: self.session.sync(messages))

    async def messages(self) -> list[dict[str, Any]]:
        """See `Session.messages`."""
        return await self._run(self.session.messages)

    async def originals(self) -> list[dict[str, Any]]:
        """See `Session.originals`."""
        return await self._run(self.session.originals)

    async def memory(self) -> Memory:
        """See `Session.memory`."""
        return await self._run(lambda: self.session.memory)

    async def report(self) -> SessionReport:
        """See `Session.report`."""
        return await self._run(lambda: self.session.report)

    async def save(self, path: str | Path) -> None:
        """See `Session.save`."""
        await self._run(lambda: self.session.save(path))

    async def _run(self, call: Callable[[], T]) -> T:
        import asyncio

        return await asyncio.get_running_loop().run_in_executor(self._pool, call)
