"""JSON files larger than memory are cut into conversations while they are read, and nothing is lost between them."""

import io
import json
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compressor import Compressor, formats
from compressor.errors import InputError
from compressor.formats.pieces import Piece, pieces, read_piece, write_piece
from compressor.formats.splice import Inside, splice
from tests.formats.samples import ANSWER, DOCUMENTS, OPENAI, THANKS, constructor, slack

CHAT = [{"role": "user", "content": THANKS}, {"role": "assistant", "content": ANSWER}]
TALK = (
    '{"type": "summary", "summary": "x"}\r\n'
    '{"type": "user", "uuid": "1", "message": {"role": "user", "content": "well hi"}}\r\n'
    "\r\n"
    '{"type": "assistant", "uuid": "2", "message": {"role": "assistant", "content": "well yo"}}\r\n'
)

STRINGS = st.text(st.sampled_from('a"\\[]{},:\n é\u2028\ud83d'), max_size=8)
VALUES = st.recursive(
    st.one_of(STRINGS, st.none(), st.booleans(), st.integers(), st.floats()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(STRINGS, inner, max_size=3)),
    max_leaves=8,
)
GAPS = st.sampled_from(["", "", " ", "\n", "\r\n\t"])


def portions(text: str, size: int) -> Iterator[str]:
    """A text in portions of a size."""
    return (text[start : start + size] for start in range(0, len(text), size))


def joined(found: list[Piece]) -> str:
    """The characters of all pieces."""
    return "".join(piece.raw for piece in found)


class TestLists:
    @settings(max_examples=150)
    @given(st.lists(VALUES, max_size=4), st.integers(1, 9), GAPS, GAPS, st.booleans(), st.sampled_from(["", "\ufeff"]))
    def test_items_are_those_of_the_parser(
        self, values: list[Any], size: int, left: str, right: str, ascii_only: bool, mark: str
    ) -> None:
        """However the text is portioned: the pieces join to it, the records are the items, the lines are right."""
        items = [{"conversations": [], "extra": value} for value in values]
        written = [json.dumps(item, ensure_ascii=ascii_only, indent=size % 3 or None) for item in items]
        raw = f"{mark}[{left}" + f"{left},{right}".join(written) + f"{right}]{left}"
        found = list(pieces(portions(raw, size), "json"))
        assert joined(found) == raw
        assert found == list(pieces(io.StringIO(raw, newline=""), "json"))
        records = [piece for piece in found if piece.is_record]
        if items:
            assert repr([json.loads(piece.raw) for piece in records]) == repr(items)
            assert all(piece.raw == piece.raw.strip() for piece in records)
        at = 0
        for piece in found:
            assert piece.line == 1 + raw.count("\n", 0, at)
            at += len(piece.raw)

    @pytest.mark.parametrize(
        ("raw", "n_records"),
        [
            (json.dumps(CHAT), 1),
            (json.dumps({"messages": CHAT}), 1),
            (json.dumps([{"messages": CHAT}] * 3), 3),
            (json.dumps([CHAT, CHAT]), 2),
            (json.dumps([None, {"conversations": []}]), 2),
            (json.dumps([slack("U", "x", "1700000000.1")] * 2), 1),
            (json.dumps([constructor("HumanMessage", content="x")] * 2), 1),
            (json.dumps([{"custom_id": "a", "body": {"messages": CHAT}}] * 2), 2),
            (json.dumps(DOCUMENTS["agent"][1]), 1),
            ("[]", 1),
            (" \n[ ]\n", 1),
            ("", 0),
            ('"text"', 1),
            ("\ufeff7", 1),
            ("{broken", 1),
        ],
    )
    def test_the_first_item_says_what_a_list_is(self, raw: str, n_records: int) -> None:
        """A list of conversations is cut; one of messages or events is one conversation, and so is any other document."""
        found = list(pieces([raw], "json"))
        assert joined(found) == raw
        assert sum(piece.is_record for piece in found) == n_records

    @pytest.mark.parametrize(
        "raw",
        [
            '[{"conversations": []}, {"conversations": [{"fr',
            '[{"conversations": []},',
            '[{"conversations": []}] {"more": 1}',
            '[{"conversations": []}}, {"conversations": []}]',
            '[{"conversations": []}, {"conversations": [}]',
            '[{"conversations": []} {"conversations": []}]',
            '[{"conversations": []}, {"conversations": [{"from": "human", "value": 3}]}]',
            '[{"conversations": []}, null]',
            '[{"conversations": []}, "\\ud8',
        ],
    )
    def test_what_is_broken_is_reported_and_kept(self, raw: str) -> None:
        """Truncated files, missing commas and bad items: every character is in a piece, one of which cannot be read."""
        found = list(pieces(portions(raw, 5), "json"))
        assert joined(found) == raw
        errors = 0
        for piece in found:
            if piece.is_record:
                try:
                    assert write_piece(read_piece(piece, "json")) == piece.raw
                except InputError:
                    errors += 1
        assert errors >= 1

    def test_errors_name_the_line_within_the_file(self) -> None:
        """Not that within the item."""
        raw = '[\n{"conversations": []},\n\n{"conversations": [{"from": "human"}]}\n]'
        bad = [piece for piece in pieces([raw], "json") if piece.is_record][1]
        with pytest.raises(InputError, match='line 4: turn 0: "value" is missing'):
            read_piece(bad, "json")

    def test_records_of_a_list_are_read_and_written_back(self, heuristic: Compressor) -> None:
        """Good ones change in their place, the others stay; `read` refuses a list of several."""
        raw = f'[ {json.dumps(CHAT)},\n {{"messages": 3}}, {json.dumps({"conversations": [{"from": "gpt", "value": ANSWER}]})} ]\n'
        found = list(formats.read_records(raw, "json"))
        assert [(line, isinstance(record, InputError)) for line, record in found] == [(1, False), (2, True), (2, False)]
        good = [record for _, record in found if not isinstance(record, InputError)]
        assert formats.write_records(raw, good) == raw
        shorter = [heuristic.compress(record, keep_ratio=0.3, keep_last=0).transcript for record in good]
        written = json.loads(formats.write_records(raw, reversed(shorter)))
        assert written[0] == formats.write(heuristic.compress(CHAT, keep_ratio=0.3, keep_last=0).transcript)
        assert written[1] == {"messages": 3}
        assert len(written[2]["conversations"][0]["value"]) < len(ANSWER)
        with pytest.raises(InputError, match="holds 3 conversations"):
            formats.read(raw, "json")

    @pytest.mark.parametrize("filler", ["\\\\", '\\"', "[", "x", "é"])
    def test_long_strings_take_linear_time(self, filler: str) -> None:
        """A string of millions of characters in small portions is looked at once."""
        text = json.dumps(
            [{"conversations": [{"from": "gpt", "value": ""}], "x": filler * 1_000_000}, {"conversations": []}]
        )
        start = time.process_time()
        found = list(pieces(portions(text, 1 << 14), "json"))
        assert time.process_time() - start < 4
        assert joined(found) == text
        assert sum(piece.is_record for piece in found) == 2

    def test_memory_is_that_of_one_item(self) -> None:
        """Of a list of 24 million characters no more than a few items are held."""
        item = json.dumps({"conversations": [{"from": "gpt", "value": "well " * 2000}]})

        def stream() -> Iterator[str]:
            yield "[" + item
            yield from (f",\n{item}" for _ in range(2400))
            yield "]"

        tracemalloc.start()
        try:
            n_records = sum(piece.is_record for piece in pieces(stream(), "json"))
            assert tracemalloc.get_traced_memory()[1] < 2_000_000
        finally:
            tracemalloc.stop()
        assert n_records == 2401


class TestLines:
    @settings(max_examples=60)
    @given(
        st.lists(st.sampled_from([*(json.dumps(CHAT),) * 2, "", "  ", "{broken", "7", "null", json.dumps({"turns": []}), "\u2028"])),
        st.integers(1, 9),
        st.sampled_from(["\n", "\r\n"]),
        st.sampled_from(["", "\ufeff"]),
    )  # fmt: skip
    def test_each_line_is_a_piece(self, rows: list[str], size: int, end: str, mark: str) -> None:
        """Blank ones are no records; the pieces join to the file."""
        raw = mark + end.join(rows)
        found = list(pieces(portions(raw, size), "jsonl"))
        assert joined(found) == raw
        assert [piece.line for piece in found] == list(range(1, len(found) + 1))
        assert all(piece.is_record == bool(piece.raw.strip("\ufeff \t\r\n")) for piece in found)
        for piece in found:
            if piece.is_record and ("[" in piece.raw or "turns" in piece.raw):
                assert write_piece(read_piece(piece, "jsonl")) == piece.raw

    def test_a_session_of_events_is_one_piece(self, heuristic: Compressor) -> None:
        """As many lines come out as went in."""
        (piece,) = pieces(io.StringIO(TALK, newline=""), "jsonl")
        transcript = read_piece(piece, "jsonl")
        assert [turn.text for turn in transcript] == ["well hi", "well yo"]
        assert write_piece(transcript) == TALK
        changed = transcript.with_turns(turn.with_text(turn.text[5:]) for turn in transcript)
        assert write_piece(changed) == TALK.replace("well ", "")

    def test_a_line_that_cannot_be_read_is_a_fault_of_its_session(self) -> None:
        """The others are read, and the line stays as it is."""
        raw = TALK + '{"type": "user", "message": {"role": "user", "content": 3}}\n{"type": "assist'
        (piece,) = pieces([raw], "jsonl")
        transcript = read_piece(piece, "jsonl")
        assert len(transcript) == 2
        first, second = formats.faults(transcript)
        assert (first.line, second.line, second.raw) == (5, 6, '{"type": "assist')
        assert 'line 5: turn 2: "content" is int' in str(first.error)
        assert "line 6: no valid JSON" in str(second.error)
        assert [line for line, _ in formats.read_records(raw, "jsonl")] == [1, 5, 6]
        with pytest.raises(InputError, match="line 5"):
            formats.read(raw, "jsonl")
        assert write_piece(transcript.with_turns(turn.with_text("x") for turn in transcript)).endswith(
            '{"type": "assist'
        )

    def test_a_session_without_a_line_that_can_be_read_is_an_error(self) -> None:
        """The first one is named."""
        raw = '{"role": "user", "content": 3}\n{"role": "user", "content": 4}\n'
        (piece,) = pieces([raw], "jsonl")
        with pytest.raises(InputError, match='line 1: turn 0: "content" is int'):
            read_piece(piece, "jsonl")

    def test_each_line_may_have_a_shape_of_its_own(self, heuristic: Compressor) -> None:
        """Mixed files are read line by line."""
        raw = "".join(json.dumps(document) + "\n" for _, document, *_ in DOCUMENTS.values())
        found = list(pieces([raw], "jsonl"))
        for piece, (shape, _, n_turns, _) in zip(found, DOCUMENTS.values(), strict=True):
            transcript = read_piece(piece, "jsonl")
            assert (transcript.extra["shape"], len(transcript)) == (shape, n_turns)
            assert write_piece(transcript) == piece.raw

    def test_a_conversation_among_messages_is_read_with_them(self) -> None:
        """In the order of the lines."""
        raw = '{"role": "user", "content": "a"}\n[{"role": "user", "content": "b"}]\n{"role": "user", "content": "c"}\n'
        transcript = formats.read(raw, "jsonl")
        assert [turn.text for turn in transcript] == ["a", "b", "c"]
        changed = transcript.with_turns(turn.with_text(turn.text * 2) for turn in transcript)
        assert formats.write(changed) == raw.replace('"a"', '"aa"').replace('"b"', '"bb"').replace('"c"', '"cc"')

    def test_repeats_and_side_conversations_pass(self) -> None:
        """Unless a file holds nothing but a side conversation."""
        side = '{"isSidechain": true, "uuid": "9", "message": {"role": "user", "content": "well side"}}\n'
        transcript = formats.read(TALK + side + TALK, "jsonl")
        assert [turn.text for turn in transcript] == ["well hi", "well yo"]
        assert len(formats.read(side, "jsonl")) == 1

    def test_a_long_line_takes_linear_time(self) -> None:
        """One line of many megabytes with text, calls and images."""
        message = {
            "role": "user",
            "content": [{"type": "text", "text": "um, ok"}, {"type": "image", "data": "A" * 4_000_000}],
        }
        raw = json.dumps({"messages": [message] * 2}) + "\n"
        start = time.process_time()
        (piece,) = pieces(portions(raw, 1 << 16), "jsonl")
        transcript = read_piece(piece, "jsonl")
        changed = transcript.with_turns(turn.with_text("ok", ((0, 2),)) for turn in transcript)
        written = write_piece(changed)
        assert time.process_time() - start < 4
        assert len(written) == len(raw) - 8

    def test_unknown_formats_and_options_are_refused(self) -> None:
        """With the allowed ones."""
        with pytest.raises(InputError, match="unknown format 'x'; allowed: text, json"):
            list(pieces([""], "x"))
        with pytest.raises(InputError, match="unknown option 'colour'"):
            list(pieces([""], "json", colour=1))


class TestForcedShapes:
    @pytest.mark.parametrize("size", [1, 7, 1 << 16])
    def test_documents_and_lines_are_told_apart(self, size: int) -> None:
        """By their content, whatever the portions."""
        event = json.dumps(slack("U1", THANKS, "1700000000.1"))
        for raw, n_turns in (
            (f"[{event},\n{event}]", 2),
            (f"{event}\n{event}\r\n\n", 2),
            (f"\ufeff\n[{event}]\n[{event}]\n", 1),
        ):
            found = list(pieces(portions(raw, size), "slack"))
            assert joined(found) == raw
            records = [piece for piece in found if piece.is_record]
            for piece in records:
                transcript = read_piece(piece, "slack")
                assert (len(transcript), transcript.extra["shape"]) == (n_turns, "slack")
                assert write_piece(transcript) == piece.raw
        assert [len(record) for _, record in formats.read_records(raw, "slack")] == [1, 1]  # type: ignore[arg-type]

    def test_a_document_on_one_long_line_is_cut(self) -> None:
        """A list of more than a megabyte without a line end is no JSON lines."""
        raw = json.dumps([{"messages": CHAT * 50}] * 200)
        assert len(raw) > 1 << 20
        assert sum(piece.is_record for piece in pieces(portions(raw, 1 << 16), "openai")) == 200


class TestHostile:
    @pytest.mark.parametrize(
        ("field", "wanted"),
        [
            ('"x": 1, "x": 2, "y": NaN, "z": [Infinity, -Infinity, 1E400, -0.0, 1.10]', None),
            ('"id": "\\ud800", "k": "\\/ \\u00e9 é"', None),
            (f'"x": {"[" * 10_000}{"]" * 10_000}', "nested too deeply"),
            (f'"x": {"9" * 5000}', "too many digits"),
            ('"content": "twice"', 'key "content" is there twice'),
        ],
    )
    def test_odd_values_are_kept_or_refused(self, field: str, wanted: str | None) -> None:
        """Never changed, never lost, never a traceback."""
        raw = f'{{"messages": [{{{field}, "role": "user", "content": "so \\ud83d um"}}]}}\n'
        for name in ("json", "jsonl"):
            if wanted is None:
                transcript = formats.read(raw, name)
                assert formats.write(transcript) == raw
                changed = transcript.with_turns([transcript.turns[0].with_text("\ud83d um")])
                assert formats.write(changed) == raw.replace("so \\ud83d", "\\ud83d")
            else:
                with pytest.raises(InputError, match=wanted):
                    formats.read(raw, name)

    def test_empty_conversations_are_conversations(self) -> None:
        """No message, no text, null and blank texts."""
        for document in (
            [],
            {"messages": []},
            {"conversations": []},
            {"turns": []},
            {"messages": [{"role": "user", "content": []}]},
        ):
            assert formats.write(formats.read(json.dumps(document), "json")) == json.dumps(document)
        assert [turn.text for turn in formats.read([*OPENAI[2:3], {"role": "user", "content": " "}])] == ["", " "]


class TestFiles:
    @pytest.mark.parametrize(
        ("name", "content", "expected"),
        [
            ("a.json", json.dumps(CHAT) + "\n" + json.dumps(CHAT) + "\n", "jsonl"),
            ("a.json", json.dumps(CHAT, indent=1), "json"),
            ("a.jsonl", json.dumps(CHAT, indent=1), "json"),
            ("a.jsonl", json.dumps(CHAT) + "\n", "jsonl"),
            ("a.jsonl", TALK, "jsonl"),
            ("a.json", TALK, "jsonl"),
            ("a.jsonl", "\n", "jsonl"),
            ("a.json", "", "json"),
        ],
    )
    def test_the_content_says_whether_json_is_lines(
        self, tmp_path: Path, name: str, content: str, expected: str
    ) -> None:
        """Either ending is given to the other."""
        path = tmp_path / name
        path.write_text(content, encoding="utf-8")
        assert formats.load(path)[2] == formats.detect(path) == expected

    def test_a_message_alone_is_a_conversation_of_one_turn(self) -> None:
        """In each container."""
        message = {"role": "user", "content": "hi"}
        for transcript in (formats.read(message), formats.read(json.dumps(message), "json")):
            assert [turn.text for turn in transcript] == ["hi"]
            changed = transcript.with_turns([transcript.turns[0].with_text("h")])
            assert formats.write(changed) in ({"role": "user", "content": "h"}, '{"role": "user", "content": "h"}')
            assert not formats.removable(transcript, 0)


class TestRequests:
    RAW = (
        '{ "requests": [\n {"custom_id": "a", "params": {"messages": [{"role": "user", "content": "so, hi"}]}},\n'
        '  {"custom_id": "b", "params": {"messages": [{"role": "user", "content": "so, no"}]}}\n] }\n'
    )

    @pytest.mark.parametrize("format", ["json", "anthropic"])
    def test_each_request_of_a_batch_is_a_conversation(self, format: str) -> None:
        """They are cut like the items of a list."""
        records = [*formats.read_records(self.RAW, format)]
        assert [line for line, _ in records] == [2, 3]
        found = [record for _, record in records if not isinstance(record, InputError)]
        assert [[turn.text for turn in record] for record in found] == [["so, hi"], ["so, no"]]
        assert formats.write_records(self.RAW, found) == self.RAW
        changed = [record.with_turns(turn.with_text(turn.text[4:]) for turn in record) for record in found]
        assert formats.write_records(self.RAW, changed) == self.RAW.replace("so, ", "")

    def test_a_request_alone_is_read_as_one_conversation(self) -> None:
        """Several at once are an error that says what to do."""
        document = json.loads(self.RAW)
        with pytest.raises(InputError, match="2 requests"):
            formats.read(document)
        del document["requests"][1:]
        assert [turn.text for turn in formats.read(document)] == ["so, hi"]


class TestSpelling:
    @pytest.mark.parametrize(
        ("raw", "text", "expected"),
        [
            (r"um a\/b", "a/b", r"a\/b"),
            (r"um \u003cb\u003e", "<b>", r"\u003cb\u003e"),
            (r"\u00E9 um \u000a x", "é \n x", r"\u00E9 \u000a x"),
            ("um é \\u00e9", "é é", "é \\u00e9"),
            ("um é \\uD83D\\ude00", "é \U0001f600", "é \\uD83D\\ude00"),
            (r"um \ud83d x", "\ud83d x", r"\ud83d x"),
            (r"um \"a\" \\", '"a" \\', r"\"a\" \\"),
            ("um a\x7f", "a\x7f", "a\x7f"),
            ("um", 'a"é', r"a\"\u00e9"),
            ("um é", 'a"é', r"a\"é"),
        ],
    )
    def test_kept_characters_are_spelt_as_they_were(self, raw: str, text: str, expected: str) -> None:
        """Only a text that is not what was there with characters deleted is spelt anew."""
        assert splice(f'["{raw}"]', {(0,): text}) == f'["{expected}"]'

    def test_strings_inside_strings_are_spelt_as_they_were(self) -> None:
        """The string outside takes its spelling from what it was, too."""
        inner = r'{"a": "um \u00E9\/"}'
        outer = json.dumps([inner]).replace("/", r"\/").replace("{", r"\u007B")
        assert splice(outer, {(0, Inside.JSON, "a"): "é/"}) == outer.replace("um ", "")

    @given(st.text(st.sampled_from('aé😀\n"\\/'), max_size=20), st.data())
    def test_any_deletion_reads_back(self, text: str, data: st.DataObject) -> None:
        """Whatever mixture of spellings a string has."""
        spell = data.draw(st.lists(st.booleans(), min_size=len(text), max_size=len(text)))
        raw = "".join(json.dumps(c, ensure_ascii=ascii)[1:-1] for c, ascii in zip(text, spell, strict=True))
        kept = "".join(c for c in text if data.draw(st.booleans()))
        assert json.loads(splice(f'["{raw}"]', {(0,): kept})) == [kept]

    def test_long_strings_are_spelt_in_linear_time(self) -> None:
        """Also where the last character is missing."""
        start = time.perf_counter()
        splice(json.dumps(["é" * 200_000]), {(0,): "é" * 100_000 + "x"})
        assert time.perf_counter() - start < 5
