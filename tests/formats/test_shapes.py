"""Every shape of JSON is recognised by its content, read, and written back with nothing but its texts changed."""

import copy
import json
import random
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compressor import Compressor, formats
from compressor.contract import is_subsequence
from compressor.errors import InputError
from compressor.formats import SHAPES
from compressor.formats.splice import parse
from compressor.transcript import Transcript, Turn
from tests.formats.samples import (
    ANSWER,
    ASK,
    DOCUMENTS,
    OPENAI,
    RESPONSES,
    TELEMETRY_IN,
    TELEMETRY_OUT,
    THANKS,
    constructor,
    slack,
)

CASES = [pytest.param(*case, id=name) for name, case in DOCUMENTS.items()]


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every value that is no container with its place, and the keys of every object in their order."""
    if isinstance(value, dict):
        yield path + "#", tuple(value)
        for key, item in value.items():
            yield from leaves(item, f"{path}/{key}")
    elif isinstance(value, list):
        yield path + "#", len(value)
        for index, item in enumerate(value):
            yield from leaves(item, f"{path}/{index}")
    else:
        yield path, value


def only_texts_differ(before: Any, after: Any, texts: str) -> bool:
    """Whether two values are equal but for words deleted from some texts; fails at any other difference."""
    changed = False
    for (path, old), (other, new) in zip(leaves(before), leaves(after), strict=True):
        assert path == other
        if old != new:
            assert re.fullmatch(texts, path), path
            assert is_subsequence(new, old)
            changed = True
    return changed


def shuffled(value: Any, order: random.Random) -> Any:
    """The same value with the keys of every object in another order."""
    if isinstance(value, dict):
        keys = list(value)
        order.shuffle(keys)
        return {key: shuffled(value[key], order) for key in keys}
    return [shuffled(item, order) for item in value] if isinstance(value, list) else value


def spaced(value: Any, order: random.Random) -> str:
    """A value as JSON with random white space, and every second string with escapes."""
    gap = lambda: order.choice(["", "", " ", "\n", "\t", "\r\n "])  # noqa: E731
    if isinstance(value, dict):
        items = [
            f"{gap()}{spaced(key, order)}{gap()}:{gap()}{spaced(item, order)}{gap()}" for key, item in value.items()
        ]
        return "{" + ",".join(items) + "}"
    if isinstance(value, list):
        return "[" + ",".join(f"{gap()}{spaced(item, order)}{gap()}" for item in value) + "]"
    return json.dumps(value, ensure_ascii=order.random() < 0.5)


class TestShapes:
    @pytest.mark.parametrize(("shape", "document", "n_turns", "texts"), CASES)
    def test_each_is_found_by_its_content(self, shape: str, document: Any, n_turns: int, texts: str) -> None:
        """In memory, as a document, as a line and under its own name alike."""
        raw = json.dumps(document)
        read = [
            formats.read(document),
            formats.read(document, shape),
            formats.read(raw, "json"),
            formats.read(raw, "jsonl"),
            formats.read(raw, shape),
        ]
        assert {transcript.extra["shape"] for transcript in read} == {shape}
        assert [len(transcript) for transcript in read] == [n_turns] * 5
        assert len({transcript.turns for transcript in read}) == 1

    @pytest.mark.parametrize(("shape", "document", "n_turns", "texts"), CASES)
    def test_texts_alone_change(
        self, shape: str, document: Any, n_turns: int, texts: str, heuristic: Compressor
    ) -> None:
        """Keys, order, numbers, calls and all that is not conversation are the same after compressing."""
        before = copy.deepcopy(document)
        result = heuristic.compress(document, keep_ratio=0.3, keep_last=0)
        assert document == before
        result.verify()
        changed = only_texts_differ(document, result.output, texts)
        assert changed == (n_turns > 0)
        for raw, name in ((json.dumps(document, indent=1), "json"), (json.dumps(document), "jsonl")):
            written = formats.write(heuristic.compress(formats.read(raw, name), keep_ratio=0.3, keep_last=0).transcript)
            assert json.loads(written) == result.output

    @settings(max_examples=15, deadline=None)
    @given(st.sampled_from(list(DOCUMENTS)), st.integers(0, 2**32), st.sampled_from(["", "\ufeff"]))
    def test_layout_comes_back_character_for_character(self, name: str, seed: int, mark: str) -> None:
        """Whatever the white space and the order of keys: unchanged it is the same, changed it parses to the change."""
        order = random.Random(seed)
        document = shuffled(DOCUMENTS[name][1], order)
        raw = mark + spaced(document, order)
        transcript = formats.read(raw, "json")
        assert transcript.extra["shape"] == DOCUMENTS[name][0]
        assert formats.write(transcript) == raw
        assert formats.write(formats.read(document)) == document
        shorter = transcript.with_turns(first_word_off(turn) for turn in transcript)
        assert only_texts_differ(document, parse(formats.write(shorter)), DOCUMENTS[name][3]) or not transcript.turns

    def test_every_shape_has_a_sample_and_a_row(self) -> None:
        """None is untested, none is missing from the table."""
        assert {shape for shape, *_ in DOCUMENTS.values()} == set(SHAPES)
        assert set(SHAPES) <= set(formats.FORMATS)

    def test_roles_and_speakers(self) -> None:
        """Chats have their roles, exports have speakers; what a program says in an export is a system turn."""
        read = {name: formats.read(document) for name, (_, document, *_) in DOCUMENTS.items()}
        roles = {name: [turn.role for turn in transcript] for name, transcript in read.items()}
        assert roles["responses request"] == ["user", "assistant", "assistant", "tool", "assistant", "user"]
        assert roles["langchain constructors"] == ["system", "user", "assistant", "tool", "user"]
        assert roles["telemetry"] == ["user", "assistant", "tool", "assistant"]
        assert roles["agent payload"] == ["user", "assistant", "tool", "assistant"]
        assert [(turn.role, turn.speaker) for turn in read["slack"]] == [
            ("system", None), ("speaker", "Ulla Berg"), ("speaker", "U2"), ("speaker", "Ledger"), ("speaker", "U1"),
        ]  # fmt: skip
        assert [turn.speaker for turn in read["discord"]] == [None, "Per", "ledger"]
        assert [turn.speaker for turn in read["telegram"]] == [None, "Ulla", "user2"]

    def test_a_forced_shape_refuses_another(self) -> None:
        """The error says what the shape is like."""
        with pytest.raises(InputError, match="has not the shape slack"):
            formats.read(OPENAI, "slack")
        with pytest.raises(InputError, match=r"line 1: .*; allowed"):
            formats.read('{"id": 1}\n{"id": 2}', "slack")

    def test_a_forced_shape_reads_what_nothing_tells_apart(self) -> None:
        """Events without a time are read as Slack's when one says so."""
        lines = "".join(json.dumps(slack("U1", THANKS, f"170000000{n}.0001")) + "\r\n" for n in range(3))
        transcript = formats.read(lines, "slack")
        assert (transcript.format, len(transcript)) == ("jsonl", 3)
        assert formats.write(transcript) == lines


def first_word_off(turn: Turn) -> Turn:
    """The turn without the first character of each block, as far as it may change."""
    if not turn.extra["fields"]:
        return turn
    pieces: list[str] = []
    blocks: list[tuple[int, int]] = []
    at = 0
    for start, end in turn.blocks or ((0, len(turn.text)),):
        pieces += (turn.text[at:start], turn.text[start + 1 : end])
        length = sum(map(len, pieces))
        blocks.append((length - len(pieces[-1]), length))
        at = end
    text = "".join([*pieces, turn.text[at:]])
    return turn.with_text(text, tuple(blocks) if turn.blocks else ())


class TestInline:
    """Markup inside a text is never altered."""

    def slack_text(self, heuristic: Compressor, text: str) -> str:
        events = [slack("U1", text, "1700000001.0002")]
        result = heuristic.compress(events, keep_ratio=0.0, keep_last=0)
        result.verify()
        return result.output[0]["text"]

    @pytest.mark.parametrize(
        "markup",
        [
            "<@U024BE7LH>", "<@U1>'s", "<!subteam^S1|@our really lovely team>", "<https://x.example/a|the really nice page>,",
            "R&amp;D", "&lt;really&gt;", "(<#C1|general>)", "<!date^1700000000^{date} and so on|really soon>",
        ],
    )  # fmt: skip
    def test_slack_markup_survives_any_budget(self, heuristic: Compressor, markup: str) -> None:
        """Mentions, links with their labels and escapes stay whole, with what is in one piece with them."""
        out = self.slack_text(heuristic, f"so, well, you know {markup} and it was really very lovely, honestly")
        assert markup in out.split("honestly")[0]
        assert re.search(rf"(^|\s){re.escape(markup)}(\s|$)", out)

    def test_text_that_is_all_markup_stays(self, heuristic: Compressor) -> None:
        """Nothing in it is a word."""
        for text in ("<@U1>", "<@U1> <@U2>", " <https://x.example|really nice> ", "&lt;3"):
            assert self.slack_text(heuristic, text) == text

    def test_lone_angle_brackets_are_text(self, heuristic: Compressor) -> None:
        """A `<` that nothing closes is no markup, and takes linear time."""
        events = [slack("U1", "<" * 100_000 + "a < b", "1700000001.0002")]
        assert formats.write(formats.read(events)) == events

    @pytest.mark.parametrize("text", ["&amp;" * 20_000, "<@U1>" * 20_000, "x<@U1>" * 20_000 + "y"])
    def test_long_runs_of_markup_take_linear_time(self, text: str) -> None:
        """Each character is looked at a few times, not once a piece of markup."""
        events = [slack("U1", text, "1700000001.0002")]
        assert formats.write(formats.read(events)) == events

    def test_telegram_words_over_the_edge_of_an_entity_stay_whole(self) -> None:
        """`un` and a bold `believable` are one word, which no block cuts."""
        said = [
            "that is un",
            {"type": "bold", "text": "believable stuff"},
            ", really ",
            {"type": "link", "text": "x.y"},
            " ok",
        ]
        message = {"type": "message", "from": "Ulla", "text": said}
        turn = formats.read({"messages": [message]}).turns[0]
        assert turn.text == "that is unbelievable stuff, really x.y ok"
        assert [turn.text[start:end] for start, end in turn.blocks] == ["that is", "really", "ok"]

    @settings(max_examples=60)
    @given(
        st.lists(
            st.one_of(
                st.text("ab .<>&@;不'", max_size=6),
                st.builds(lambda kind, text: {"type": kind, "text": text}, st.sampled_from(["bold", "link"]), st.text("a b", max_size=4)),
            ),
            max_size=6,
        )
    )  # fmt: skip
    def test_running_texts_come_back_and_lose_only_what_is_deleted(self, said: list[Any]) -> None:
        """Whatever the pieces: unchanged equal, changed a subsequence with the links as they were."""
        document = {"messages": [{"type": "message", "from": "Ulla", "text": said}]}
        transcript = formats.read(document)
        assert formats.write(transcript) == document
        written = formats.write(transcript.with_turns(first_word_off(turn) for turn in transcript))
        only_texts_differ(document, written, r"/messages/0/text/\d+(/text)?")
        for old, new in zip(said, written["messages"][0]["text"], strict=True):
            assert not (isinstance(old, dict) and old["type"] == "link") or old == new


MESSAGES = TELEMETRY_IN + TELEMETRY_OUT


class TestInsideStrings:
    def span(self, **options: Any) -> dict[str, Any]:
        return {"span_id": "a", "attributes": {"gen_ai.input.messages": json.dumps(MESSAGES, **options), "n": 1}}

    def test_messages_in_a_json_string_are_spliced(self, heuristic: Compressor) -> None:
        """The string is valid JSON again, and differs in its texts alone."""
        span = self.span(indent=2)
        result = heuristic.compress(span, keep_ratio=0.3, keep_last=0)
        inner = result.output["attributes"]["gen_ai.input.messages"]
        assert only_texts_differ(MESSAGES, json.loads(inner), r"/\d/parts/\d/content")
        assert inner.count("\n") == span["attributes"]["gen_ai.input.messages"].count("\n")
        raw = json.dumps(span)
        assert formats.write(formats.read(raw, "json")) == raw
        written = formats.write(heuristic.compress(formats.read(raw, "json"), keep_ratio=0.3, keep_last=0).transcript)
        assert json.loads(written) == result.output

    def test_exports_of_a_collector_are_read(self, heuristic: Compressor) -> None:
        """Attributes as a list of keys and values, spans within scopes within resources."""
        attribute = {"key": "gen_ai.input.messages", "value": {"stringValue": json.dumps(MESSAGES)}}
        span = {"spanId": "a", "attributes": [{"key": "n", "value": {"intValue": "1"}}, attribute]}
        export = {"resourceSpans": [{"scopeSpans": [{"spans": [{"spanId": "b", "attributes": []}, span]}]}]}
        result = heuristic.compress(export, keep_ratio=0.3, keep_last=0)
        assert len(result.source) == 4
        place = r"/resourceSpans/0/scopeSpans/0/spans/1/attributes/1/value/stringValue"
        assert only_texts_differ(export, result.output, place)

    @pytest.mark.parametrize("value", ["{broken", "7", 7, '"text"'])
    def test_what_holds_no_list_is_an_error(self, value: Any) -> None:
        """It names the field."""
        with pytest.raises(InputError, match=r'"gen_ai\.input\.messages"'):
            formats.read({"span_id": "a", "attributes": {"gen_ai.input.messages": value}})


class TestErrors:
    @pytest.mark.parametrize(
        ("document", "wanted"),
        [
            ({"prompt": "x"}, r"shapes that were tried: .*telegram.*openai"),
            ({"model": "text-embedding-9", "input": "x"}, 'no "messages"'),
            ({"url": "/v1/embeddings", "body": {"model": "m", "input": "x"}}, 'no "messages"'),
            ({"input": ["a", "b"]}, 'no "messages"'),
            ({"instruction": "a", "input": "b", "output": "c"}, 'no "messages"'),
            ({"messages": 3}, '"messages" is int'),
            ({"body": {"messages": {}}}, r'"body\.messages" is dict'),
            ({"conversations": "x"}, '"conversations" is str'),
            ({"turns": {}}, '"turns" is dict'),
            ([{"from": "human", "value": 3}], 'turn 0: "value" is int'),
            ([constructor("HumanMessage")], 'turn 0: "content" is missing'),
            ([constructor("ChatMessage", content="x")], 'turn 0: "role" is missing'),
            ([constructor("AIMessage", content="", tool_calls={})], 'turn 0: "tool_calls" is dict'),
            ([slack("U", "x", "1700000000.1"), slack("U", 5, "1700000000.2")], 'turn 1: "text" is int'),  # type: ignore[arg-type]
            ({"messages": [{"author": {"id": "1"}, "content": "x"}, {"author": {}, "content": []}]}, 'turn 1: "content" is list'),
            ({"messages": [{"type": "message", "from": "A", "text": [3]}]}, 'turn 0: "text", part 0 is int'),
            ({"messages": [{"type": "message", "from": "A", "text": 3}]}, 'turn 0: "text" is int'),
            ({"attributes": {"gen_ai.input.messages": [{"role": "user", "parts": 3}]}}, 'turn 0: "parts" is int'),
            ({"attributes": {"gen_ai.input.messages": [{"role": "user", "parts": [3]}]}}, '"parts", part 0 is int'),
            ({"attributes": {"gen_ai.input.messages": [{"role": "user", "parts": [{"type": "text"}]}]}}, '"content" is missing'),
            ({"model": "m", "input": [{"role": "user", "content": "x"}, {"content": "y"}]}, 'turn 1: "role" and "type": missing'),
        ],
    )  # fmt: skip
    def test_broken_conversations_name_the_turn_and_the_field(self, document: Any, wanted: str) -> None:
        """One clear error, in memory and in a file alike."""
        with pytest.raises(InputError, match=wanted):
            formats.read(document)
        with pytest.raises(InputError, match=wanted):
            formats.read(json.dumps(document), "json")

    def test_a_list_of_conversations_is_not_one(self) -> None:
        """A list of one is."""
        one = {"conversations": [{"from": "human", "value": ASK}]}
        assert formats.write(formats.read([one])) == [one]
        with pytest.raises(InputError, match="holds 2 conversations; compress them one by one"):
            formats.read([one, one])

    def test_objects_that_contain_themselves_are_refused(self) -> None:
        """Instead of an endless copy."""
        message: dict[str, Any] = {"role": "user", "content": "x"}
        message["self"] = message
        with pytest.raises(InputError, match="may not contain itself"):
            formats.write(formats.read([message]))

    def test_deep_values_in_memory_are_copied(self) -> None:
        """Deeper than the interpreter's stack."""
        deep: Any = []
        for _ in range(10_000):
            deep = [deep]
        source = [{"role": "user", "content": "um x", "deep": deep}]
        written = formats.write(formats.read(source))
        assert written[0]["content"] == "um x"
        assert written[0]["deep"] is not deep


JUNK = st.sampled_from(
    [None, 3, True, "x", "[]", {}, [], ["x"], [None], [[]], {"type": "text"}, {"role": "user", "content": "hi"}, float("nan")]
)  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value inside another."""
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield (*path, key)
        yield from places(item, (*path, key))


@settings(max_examples=150, deadline=None)
@given(st.data(), st.sampled_from(list(DOCUMENTS)), st.sampled_from([None, *SHAPES]))
def test_broken_documents_are_read_or_refused(data: st.DataObject, name: str, shape: str | None) -> None:
    """Whatever stands where something else should: an error of the reader's own, or the same document again."""
    document = copy.deepcopy(DOCUMENTS[name][1])
    for _ in range(data.draw(st.integers(1, 3))):
        *above, last = data.draw(st.sampled_from([*places(document), ("x",)]))
        holder = document
        for step in above:
            holder = holder[step]
        if last in (holder if isinstance(holder, dict) else range(len(holder))):
            holder[last] = copy.deepcopy(data.draw(JUNK))
    raw = json.dumps(document)
    try:
        transcript = formats.read(raw, shape or "json")
    except InputError:
        return
    assert formats.write(transcript) == raw
    emptied = transcript.with_turns(turn.with_text("") if turn.extra["fields"] else turn for turn in transcript)
    json.loads(str(formats.write(emptied)))


class TestSeveralHints:
    def test_lists_may_be_mixed(self) -> None:
        """A message of another shape among the events is read as what it is."""
        event, message = slack("U1", THANKS, "1700000000.1"), {"role": "user", "content": THANKS}
        for items in ([event, message], [message, event], [constructor("HumanMessage", content=THANKS), message]):
            transcript = formats.read(items)
            assert [turn.text for turn in transcript] == [THANKS, THANKS]
            assert formats.write(transcript) == items

    @pytest.mark.parametrize(
        "beside",
        [
            {"turns": 3}, {"conversations": "x"}, {"conversation": []}, {"input": "x", "model": "m"}, {"attributes": {}, "span_id": "s"},
            {"events": DOCUMENTS["agent"][1]}, {"custom_id": "a", "response": None},
        ],
    )  # fmt: skip
    def test_a_list_of_messages_outweighs_what_stands_beside_it(self, beside: dict[str, Any]) -> None:
        """It is read, whatever else the object holds."""
        document = {**beside, "messages": OPENAI}
        assert formats.read(document).extra["shape"] == "openai"
        assert len(formats.read(json.dumps(document), "jsonl")) == len(OPENAI)

    def test_a_message_without_its_role_is_an_error_among_items(self) -> None:
        """Its text would be passed over."""
        with pytest.raises(InputError, match='turn 1: "role" is missing'):
            formats.read([RESPONSES[2], {"type": "message", "content": "x"}])

    def test_keys_on_the_way_to_a_text_are_there_once(self) -> None:
        """Where they are not, a change is refused, and nothing is overwritten."""
        raw = '{"attributes": {"x": 1}, "attributes": {"gen_ai.input.messages": []}}'
        with pytest.raises(InputError, match='key "attributes" is there twice'):
            formats.read(raw, "json")


class TestOutputs:
    def test_messages_of_exports_are_chat_messages(self, heuristic: Compressor) -> None:
        """`result.messages` can be sent to a model; `result.output` is the export."""
        result = heuristic.compress(DOCUMENTS["slack"][1], keep_ratio=0.3)
        assert [set(message) for message in result.messages[1:]] == [{"role", "content", "name"}] * 4
        assert result.messages[0]["role"] == "system"

    def test_items_of_a_request_are_all_there(self) -> None:
        """Calls and reasoning are no texts, but among the messages."""
        assert formats.as_messages(formats.read({"model": "m", "input": RESPONSES})) == RESPONSES
        assert formats.as_messages(formats.read({"model": "m", "input": THANKS})) == [
            {"role": "user", "content": THANKS}
        ]

    def test_events_and_items_are_never_taken_out(self, heuristic: Compressor) -> None:
        """Replies and links refer to them; a chat message may go."""
        for name, (_, document, n_turns, _) in DOCUMENTS.items():
            transcript = formats.read(document)
            free = [index for index in range(n_turns) if formats.removable(transcript, index)]
            assert not free or name.startswith(("openai", "anthropic", "sharegpt", "speakers", "lmsys")), name
        chat = {"conversations": [{"from": "human", "value": ASK}, {"from": "gpt", "value": ANSWER}]}
        assert formats.removable(formats.read(chat), 1)

    def test_a_turn_that_was_carried_cannot_be_given_a_text(self) -> None:
        """What would be lost in silence is an error."""
        transcript = formats.read({"model": "m", "input": RESPONSES})
        turns = [turn.with_text("x") if turn.role == "tool" else turn for turn in transcript]
        with pytest.raises(InputError, match="turn 3 has 1 text blocks; its message has 0"):
            formats.write(Transcript(tuple(turns), "messages", transcript.extra))
