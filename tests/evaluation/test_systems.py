"""What can be graded, and what is said when it cannot."""

import json
import socket
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import numpy as np
import pytest

from compressor.errors import PolicyError
from compressor.evaluation.baselines import run_baseline
from compressor.evaluation.cases import Dialogue
from compressor.evaluation.endpoint import Endpoint
from compressor.evaluation.errors import EndpointError, EvaluationError, SystemFailure
from compressor.evaluation.outputs import tokens
from compressor.evaluation.reader import make_reader
from compressor.evaluation.systems import make_system
from compressor.words import segment_text


def first_words(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A user's compressor: the first three words of each message."""
    return [{**message, "content": " ".join(message["content"].split()[:3])} for message in messages]


def failing(messages: list[dict[str, Any]]) -> str:
    """A user's compressor with a bug."""
    raise KeyError("text")


def number(messages: list[dict[str, Any]]) -> int:
    """A user's compressor that returns nothing of use."""
    return 3


def always_b(transcript: str, question: str, options: dict[str, str]) -> str:
    """A user's reader."""
    return "B"


HERE = __name__


def total(dialogue: Dialogue) -> int:
    """Tokens of a source."""
    return sum(tokens(turn.text) for turn in dialogue.transcript)


def test_ours_keeps_what_it_promises_and_reports_the_stretches(flip: Dialogue) -> None:
    """No last turns stay by default; protected stretches are listed by turn."""
    output = make_system("light", "heuristic").run(flip.transcript, "fee")
    assert not output.rewrites
    assert output.keep is not None
    assert not output.keep.all()
    assert output.protected is not None
    assert any("not" in run.split() for run in output.protected[0])
    assert make_system("light,keep_last=4", "heuristic").run(flip.transcript, "fee").tokens == total(flip)


def test_a_users_function_gets_messages(flip: Dialogue) -> None:
    """What it returns is graded; it is found as module:callable."""
    output = make_system(f"{HERE}:first_words").run(flip.transcript, "fee")
    assert output.turns[0] == "Well, um, the"
    assert not output.rewrites


@pytest.mark.parametrize(
    ("name", "message"),
    [("failing", "failed on fee: KeyError: 'text'"), ("number", "failed on fee: TypeError: returned int; allowed:")],
)
def test_a_failing_function_is_named_with_its_case(flip: Dialogue, name: str, message: str) -> None:
    """The error says which compressor failed on which case, and how."""
    with pytest.raises(SystemFailure, match=message):
        make_system(f"{HERE}:{name}").run(flip.transcript, "fee")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("medium", "there is no system 'medium'; allowed: light, tight"),
        ("truncation", "needs the share of tokens to keep"),
        ("random=2", "needs the share of tokens to keep, 0 to 1"),
        ("nowhere.at.all:f", "cannot be loaded"),
        (f"{HERE}:missing", "cannot be loaded"),
        (f"{HERE}:HERE", "cannot be called"),
        ("summariser=0.5", "needs an endpoint: --summariser URL"),
    ],
)
def test_an_unknown_system_says_what_is_allowed(spec: str, message: str) -> None:
    """Names, shares and functions are checked before anything runs."""
    with pytest.raises(EvaluationError, match=message):
        make_system(spec, "heuristic")


def test_an_option_of_ours_is_checked_by_the_policy() -> None:
    """The policy's own message comes through."""
    with pytest.raises(PolicyError, match="keep_ratio is 3"):
        make_system("keep_ratio=3", "heuristic")


def test_none_keeps_everything(flip: Dialogue) -> None:
    """The control changes nothing."""
    assert make_system("none").run(flip.transcript, "fee").turns == tuple(turn.text for turn in flip.transcript)


def test_truncation_keeps_the_end(flip: Dialogue) -> None:
    """The oldest turns go first."""
    output = make_system("truncation=0.3").run(flip.transcript, "fee")
    assert output.turns[0] == ""
    assert output.turns[-1] == flip.transcript.turns[-1].text


def test_random_deletion_meets_a_number_of_tokens_and_is_seeded(flip: Dialogue) -> None:
    """As many tokens as asked for, less the word that no longer fits; the same for the same seed."""
    limit = total(flip) // 2
    first, again, other = (run_baseline("random", flip.transcript, limit, seed) for seed in ("1", "1", "2"))
    assert limit - 3 <= first.tokens <= limit
    assert first.turns == again.turns
    assert first.turns != other.turns


def test_stop_words_take_the_negation_along(flip: Dialogue) -> None:
    """Which is why they are a warning and not a method."""
    kept = [flip.transcript.turns[0].text[a:b] for a, b in segment_text(flip.transcript.turns[0].text)]
    assert "not" in kept
    assert "not" not in make_system("stopwords").run(flip.transcript, "fee").turns[0].split()


def test_sentences_are_kept_whole(flip: Dialogue) -> None:
    """Each turn of the example is one sentence: kept or gone."""
    output = make_system("sentences=0.6").run(flip.transcript, "fee")
    assert all(after in ("", turn.text) for turn, after in zip(flip.transcript, output.turns, strict=True))
    assert 0 < output.tokens <= 0.6 * total(flip)


@pytest.fixture
def endpoint() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A chat endpoint on this machine that answers `B.`; its first answer is a busy one. Yields what it was asked."""
    asked: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            body = json.dumps({"choices": [{"message": {"content": "B."}}]}).encode()
            self.send_response(503 if len(asked) == 1 else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1", asked
    server.shutdown()
    server.server_close()


def test_a_reader_behind_an_endpoint_is_asked_again_when_busy(
    endpoint: tuple[str, list[dict[str, Any]]], flip: Dialogue
) -> None:
    """The prompt holds transcript, question and options, at temperature 0; the letter is found in the answer."""
    url, asked = endpoint
    reader = make_reader(url, "tiny")
    assert reader("user: the fee", "Refundable?", dict(flip.options)) == "B"
    assert len(asked) == 2
    assert (asked[1]["model"], asked[1]["temperature"]) == ("tiny", 0)
    assert all(part in asked[1]["messages"][0]["content"] for part in ("user: the fee", "Refundable?", "B. No"))


def test_a_summariser_rewrites(endpoint: tuple[str, list[dict[str, Any]]], flip: Dialogue) -> None:
    """Its answer is graded like any other output."""
    url, asked = endpoint
    output = make_system("summariser=0.4", summariser=Endpoint(url, "tiny")).run(flip.transcript, "fee")
    assert (output.turns, output.aligned, output.rewrites) == (("B.",), False, True)
    assert "about 40 %" in asked[-1]["messages"][0]["content"]


def test_an_unreachable_reader_is_a_clear_error() -> None:
    """The message names the address; nothing is retried for long."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(
        EndpointError, match=rf"http://127.0.0.1:{port}/v1/chat/completions: no answer .*Check the address"
    ):
        Endpoint(f"http://127.0.0.1:{port}/v1", "tiny", retries=0).ask("?", 5)


def test_a_reader_needs_a_model_or_a_function() -> None:
    """An address alone is not enough."""
    with pytest.raises(EvaluationError, match="needs the name of a model: --reader-model"):
        make_reader("http://localhost:1/v1")
    assert make_reader(f"{HERE}:always_b")("", "", {"A": "x", "B": "y"}) == "B"


def test_random_masks_do_not_depend_on_the_order_of_calls(flip: Dialogue) -> None:
    """Each transcript has random numbers of its own."""
    run_baseline("random", flip.transcript, 5, "other")
    one = run_baseline("random", flip.transcript, 20, "x").keep
    two = run_baseline("random", flip.transcript, 20, "x").keep
    assert one is not None
    assert two is not None
    assert np.array_equal(one, two)
