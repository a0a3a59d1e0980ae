"""A copy of a provider's client that shortens conversations on their way out; the client itself stays as it is.

The official clients send every request of every method (`create`, `stream`, `parse`, raw responses, tool runners) through
their public `post`. So that is the one place where a copy differs, for that copy alone.
"""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import anyio.to_thread

Client = TypeVar("Client", bound=Any)
Rewrite = Callable[[Mapping[str, Any]], Mapping[str, Any]]


def rewriting(client: Client, rewrites: Mapping[str, Rewrite]) -> Client:
    """A copy of a client, with the same connections, that rewrites the bodies of some requests.

    Args:
        client: A synchronous or asynchronous client. It is not changed.
        rewrites: By path, such as `/chat/completions`: from the body to the body that is sent. Bodies sent to other paths
            are not looked at. In an asynchronous client a rewrite runs in a thread.
    """
    copy: Client = client.copy()
    post, copy_again = copy.post, copy.copy

    def rewrite_of(path: str, body: Any) -> Rewrite | None:
        return rewrites.get(path.partition("?")[0]) if isinstance(body, Mapping) else None

    def rewritten(path: str, *, body: Any = None, **options: Any) -> Any:
        rewrite = rewrite_of(path, body)
        return post(path, body=rewrite(body) if rewrite else body, **options)

    async def rewritten_async(path: str, *, body: Any = None, **options: Any) -> Any:
        rewrite = rewrite_of(path, body)
        return await post(path, body=await anyio.to_thread.run_sync(rewrite, body) if rewrite else body, **options)

    def copied(**options: Any) -> Client:
        other: Client = copy_again(**options)
        return rewriting(other, rewrites)

    vars(copy).update(
        post=rewritten_async if inspect.iscoroutinefunction(post) else rewritten, copy=copied, with_options=copied
    )
    return copy
