"""A provider on this machine: takes requests over HTTP, remembers their bodies, and answers from a script."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any


@dataclass
class Provider:
    """A running server.

    Args:
        url: Its address, without a slash at the end.
        bodies: The bodies of the requests, in order.
        paths: Their paths.
    """

    url: str = ""
    bodies: list[dict[str, Any]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)


@contextmanager
def provider(answer: Callable[[int, dict[str, Any]], Any]) -> Iterator[Provider]:
    """Run a server.

    Args:
        answer: From the number of a request, from 0, and its body to what is sent back: an object as JSON, a list of
            objects as server-sent events, each under its `type`.
    """
    running = Provider()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            running.bodies.append(body)
            running.paths.append(self.path)
            answered = answer(len(running.bodies) - 1, body)
            events = isinstance(answered, list)
            sent = "".join(_event(event) for event in answered) if events else json.dumps(answered)
            self.send_response(200)
            self.send_header("content-type", "text/event-stream" if events else "application/json")
            self.send_header("content-length", str(len(sent.encode())))
            self.end_headers()
            self.wfile.write(sent.encode())

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    running.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield running
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _event(event: dict[str, Any]) -> str:
    kind = f"event: {event['type']}\n" if "type" in event else ""
    return f"{kind}data: {json.dumps(event)}\n\n"
