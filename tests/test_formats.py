"""What is read comes back as it was, and only texts change."""

import copy
import json
import time
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compressor import compress, formats
from compressor.errors import InputError
from compressor.transcript import Transcript, Turn

CHARS = st.sampled_from(
    [
        *"aZé ß9.,:：?-*_<>[]()#\"'\\/\n\r\t\0\x0c\x85\u2028\u200d\u200f\ufeff",
        "\r\n",
        "🏳️‍🌈",
        "שלום",
        "王",
        "\u0301",
        "\ud83d",
    ]
)
LABELS = st.sampled_from(
    [
        *("Ann: ", "Bob:", "José: ", "主持人：", "Dr. Faber: ", "**User:** ", "Assistant: ", "### Human: ", "bob: "),
        *("[00:01:02] Ann: ", "Bob (10:32): ", "Ann (host, Lib.): ", "[10:00] <nick> ", "=== ", "10:30", "\ufeff"),
        *("Note: ", "https://x", "key: "),
    ]
)
LINES = st.builds(
    lambda label, body, end: label + body + end,
    st.one_of(st.just(""), LABELS),
    st.lists(CHARS, max_size=6).map("".join),
    st.sampled_from(["\n", "\r\n", "\n\n", "\r", ""]),
)
TEXTS = st.one_of(st.text(max_size=40), st.lists(LINES, max_size=8).map("".join))

STRINGS = st.lists(CHARS, max_size=8).map("".join)
JUNK = st.dictionaries(
    st.sampled_from(["id", "x", "cache_control"]), st.one_of(STRINGS, st.none(), st.integers()), max_size=2
)
PARTS = st.one_of(
    st.builds(lambda text, junk: {"type": "text", "text": text, **junk}, STRINGS, JUNK),
    st.builds(lambda url: {"type": "image_url", "image_url": {"url": url}}, STRINGS),
    st.builds(lambda text: {"type": "refusal", "refusal": text}, STRINGS),
    st.builds(lambda text: {"type": "tool_use", "id": "t", "name": "f", "input": {"text": text}}, STRINGS),
    st.builds(lambda text: {"type": "tool_result", "content": [{"type": "text", "text": text}]}, STRINGS),
    st.builds(lambda text: {"type": "thinking", "thinking": text}, STRINGS),
)
MESSAGES = st.builds(
    lambda role, content, junk: {"role": role, **junk, "content": content},
    st.sampled_from(["user", "assistant", "system", "tool"]),
    st.one_of(STRINGS, st.none(), st.lists(PARTS, max_size=4)),
    JUNK,
)
CONVERSATIONS = st.lists(MESSAGES, max_size=5)


def speakers(source: str) -> list[str | None]:
    return [turn.speaker for turn in formats.read(source)]


def shorten(transcript: Transcript) -> Transcript:
    """The transcript without the first character of each text block."""
    turns = []
    for turn in transcript:
        pieces, blocks, at = [], [], 0
        for start, end in turn.blocks or ((0, len(turn.text)),):
            pieces.append(turn.text[start + 1 : end])
            blocks.append((at, at + len(pieces[-1])))
            at += len(pieces[-1]) + 2
        turns.append(turn.with_text("\n\n".join(pieces), tuple(blocks) if turn.blocks else ()))
    return transcript.with_turns(turns)


class TestText:
    @given(TEXTS)
    def test_text_comes_back_character_for_character(self, source: str) -> None:
        """Whatever the text, writing what was read gives it again."""
        transcript = formats.read(source)
        assert formats.write(transcript) == source
        assert formats.misread(transcript) == ()

    @given(TEXTS)
    def test_an_emptied_text_is_read_as_the_same_turns(self, source: str) -> None:
        """Labels alone are enough to find the turns again."""
        transcript = formats.read(source)
        labelled = [turn for turn in transcript if "label" in turn.extra]
        written = formats.write(transcript.with_turns(turn.with_text("") for turn in transcript))
        again = [turn for turn in formats.read(written) if "label" in turn.extra]
        assert [(turn.role, turn.speaker, turn.text) for turn in again] == [
            (turn.role, turn.speaker, "") for turn in labelled
        ]

    @pytest.mark.parametrize(
        ("source", "expected"),
        [
            ("Nurse Odell: ready?\nDr. Faber: no.\n", ["Nurse Odell", "Dr. Faber"]),
            ("[00:01:02] Ann: hi\nAnn (10:32): so\n00:12 Ann: bye", ["Ann", "Ann", "Ann"]),
            ("2024-05-01 10:32 - Nan Roe: hi\n2024-05-01 10:33 - Theo: ok\n", ["Nan Roe", "Theo"]),
            ("主持人：我们开始。\n王薇：好的。\n", ["主持人", "王薇"]),
            ("客服:您好\n顾问:ok\n", ["客服", "顾问"]),
            ("Jose\u0301: hola\nGuest_family_1: hi\nPhD G: mm\n", ["Jose\u0301", "Guest_family_1", "PhD G"]),
            ("Anna van der Berg: one\nJ.R. Smith-Jones: two\n", ["Anna van der Berg", "J.R. Smith-Jones"]),
            ("Mr. d'Aubert (North, Lib.): sir\nThe Chair: order\n", ["Mr. d'Aubert (North, Lib.)", "The Chair"]),
            ("speaker 1: a\nspeaker 2: b\n", ["speaker 1", "speaker 2"]),
            ("ann: hi\nbob: yo\nann: so\n", ["ann", "bob", "ann"]),
            ("Speaker №1: да\nZoé : oui\n", ["Speaker №1", "Zoé"]),
            ("Ann:\nlong text\n\nBob:\nmore\n\nAnn:\n\n", ["Ann", "Bob", "Ann"]),
            ("[15:29] <ann> bob: hi\n=== cy is now dan\n[15:30] <@bob> ok\n", ["ann", None, "bob"]),
            ("\u200eAnn: hi\n\u200eBob: yo\n", ["Ann", "Bob"]),
            ("[10:00] Ann: see\nTheo: inside a message\n[10:01] Theo: ok\n", ["Ann", "Theo"]),
        ],
    )
    def test_labels_become_speakers(self, source: str, expected: list[str | None]) -> None:
        """Names, times, brackets, other scripts and chat logs are read."""
        transcript = formats.read(source)
        assert [turn.speaker for turn in transcript] == expected
        assert {turn.role for turn in transcript} <= {"speaker", "none"}

    @pytest.mark.parametrize(
        "source",
        [
            "Note: bring a coat.",
            "Note: bring a coat.\nWarning: it rains.\nNote: and boots.\n",
            "We met at noon.\nThe result was clear: we go.\nAll agreed.\nThe result was clear: we go.\n",
            "https: //example.org\n10:30 we leave\n11:45 we arrive\n",
            "See https://a.example\nftp://b.example\nhttp://c.example",
            "name: demo\nversion: 2\nservices:\n  web:\n    image: nginx\n",
            "retries: 3\ntimeout: 9\nport: 80\nmode: fast\n",
            "2024-05-01 12:00:01 ERROR: no disk\n2024-05-01 12:00:02 ERROR: no disk\n",
            "2024-05-01 12:00:01 kernel: up\n2024-05-01 12:00:02 kernel: down\n2024-05-01 12:00:03 kernel: up\n",
            "From: Ann\nTo: Bob\nSubject: Lunch\n\nAt noon?\n",
            "Paris: France\nRome: Italy\nBern: Switzerland\nOslo: Norway\nRiga: Latvia\nBonn: Germany\nGraz: Austria\n",
            "Step 1: dig\nStep 2: sow\nStep 3: wait\n",
            "注意：带伞。\n时间：三点。\n",
            "他说：你好。\n她问道：谁？\n他说：我。\n",
            "## Usage\n### Pros: a\n### Cons: b\n### Pros: c\n",
            "<b> x\n<b> y\n<i> z\n",
            "Ann: only one line\n",
            "",
            " \n\n ",
        ],
    )
    def test_other_colons_make_no_dialogue(self, source: str) -> None:
        """Notes, logs, keys, lists and prose are one turn without a speaker."""
        transcript = formats.read(source)
        assert [(turn.role, turn.speaker) for turn in transcript] == [("none", None)]

    def test_chat_labels_stand_for_roles(self) -> None:
        """Labels of a chat give its roles; what an answer lists is no speaker."""
        source = (
            "System: be kind\n**User:** hi\n\n### Assistant: so\nResult: 3\nSteps: two\n\nBot: x\n用户：好\n助手：好\n"
        )
        transcript = formats.read(source)
        assert [turn.role for turn in transcript] == ["system", "user", "assistant", "assistant", "user", "assistant"]
        assert transcript.turns[2].text == "so\nResult: 3\nSteps: two"
        assert transcript.turns[4].speaker == "用户"
        assert transcript.is_chat

    def test_agents_and_customers_are_speakers(self) -> None:
        """A call centre's labels are names, not chat roles."""
        assert {turn.role for turn in formats.read("Agent: hi\nCustomer: hello\nAgent: yes?\n")} == {"speaker"}

    def test_lines_without_a_label_continue_the_turn(self) -> None:
        """They keep their line breaks; a text before the first label is a turn of its own."""
        transcript = formats.read("\nMeeting\r\n\r\nAnn: one\r\n two\r\n\r\nBob: three\r\nAnn: four")
        assert [turn.text for turn in transcript] == ["Meeting", "one\r\n two", "three", "four"]
        assert transcript.turns[0].role == "none"

    def test_changed_turns_keep_what_stands_around_them(self) -> None:
        """Labels, blank lines, line ends and the mark of the encoding survive; an emptied turn loses its space."""
        transcript = formats.read("\ufeffAnn: well, yes\r\n\r\n**Bob:** um\r\nAnn:\tno\r\n")
        texts = ["yes", "", "no"]
        changed = transcript.with_turns(turn.with_text(text) for turn, text in zip(transcript, texts, strict=True))
        assert formats.write(changed) == "\ufeffAnn: yes\r\n\r\n**Bob:**\r\nAnn:\tno\r\n"

    def test_misread_names_the_turn_whose_text_became_a_label(self) -> None:
        """A name that moved to the head of a line would open a turn."""
        transcript = formats.read("Ann: hi\nBob: well,\nI told Ann: wait\nAnn: ok\n")
        turns = list(transcript)
        assert formats.misread(transcript) == ()
        turns[1] = turns[1].with_text("well,\nAnn: wait")
        assert formats.misread(transcript.with_turns(turns)) == (1,)

    def test_as_text_labels_chat_messages(self) -> None:
        """Any transcript can be shown as text."""
        messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": None}]
        assert formats.as_text(formats.read(messages)) == "user: hi\nassistant:"
        assert formats.as_text(formats.read("Ann: a\nBob: b\n")) == "Ann: a\nBob: b\n"

    @pytest.mark.parametrize(
        "unit", ["a", "a ", "A: ", " ", "[", "1:", "**", "<", ":", "#", "12:30 ", "名", "\u200e", "(1:11) ", "A ("]
    )
    def test_long_lines_take_linear_time(self, unit: str) -> None:
        """No line of 100,000 characters makes the search for a label slow."""
        source = unit * (100_000 // len(unit))
        start = time.process_time()
        assert formats.write(formats.read(source)) == source
        assert time.process_time() - start < 1.0


class TestMessages:
    @given(CONVERSATIONS)
    def test_messages_come_back_equal_and_untouched(self, source: list[Any]) -> None:
        """One turn a message; reading and writing change nothing, neither the source nor the result."""
        before = copy.deepcopy(source)
        transcript = formats.read(source)
        assert len(transcript) == len(source)
        written = formats.write(transcript)
        assert written == source == before
        assert [list(message) for message in written] == [list(message) for message in source]
        for message in written:
            message.clear()
        assert source == before

    @given(CONVERSATIONS)
    def test_changed_texts_change_nothing_else(self, source: list[Any]) -> None:
        """Only the text of text parts differs, block by block."""
        before = copy.deepcopy(source)
        written = formats.write(shorten(formats.read(source)))
        assert source == before
        for old, new in zip(source, written, strict=True):
            assert {**new, "content": 0} == {**old, "content": 0}
            if isinstance(old["content"], str):
                assert new["content"] == old["content"][1:]
            elif old["content"] is None:
                assert new["content"] is None
            else:
                for part, changed in zip(old["content"], new["content"], strict=True):
                    assert changed == (part | {"text": part["text"][1:]} if part["type"] == "text" else part)

    def test_blocks_say_where_each_text_part_is(self) -> None:
        """Parts are joined by a blank line that belongs to none of them."""
        parts = [{"type": "text", "text": "one"}, {"type": "image"}, {"type": "input_text", "text": "three"}]
        turn = formats.read([{"role": "user", "name": "Ann", "content": parts}]).turns[0]
        assert (turn.text, turn.blocks, turn.speaker) == ("one\n\nthree", ((0, 3), (5, 10)), "Ann")
        assert formats.read([{"role": "user", "content": parts[:1]}]).turns[0].blocks == ((0, 3),)
        assert formats.read([{"role": "user", "content": "one"}]).turns[0].blocks == ()

    def test_objects_keep_their_other_fields(self) -> None:
        """A request goes through with its model and system prompt."""
        source = {"model": "m", "system": "be kind", "messages": [{"role": "user", "content": "so hi"}], "n": 1}
        transcript = formats.read(source)
        changed = formats.write(transcript.with_turns([transcript.turns[0].with_text("hi")]))
        assert changed == {**source, "messages": [{"role": "user", "content": "hi"}]}
        assert list(changed) == list(source)
        assert formats.as_messages(transcript) == source["messages"]

    def test_pairs_of_from_and_value_are_read(self) -> None:
        """The other common shape of a chat has the same roles."""
        source = {"conversations": [{"from": "human", "value": "hi"}, {"from": "gpt", "value": "yo"}]}
        transcript = formats.read(source)
        assert [(turn.role, turn.text) for turn in transcript] == [("user", "hi"), ("assistant", "yo")]
        assert formats.write(transcript) == source

    def test_tool_turns_are_read_and_null_stays_null(self) -> None:
        """A call without text is a turn without text."""
        source = [
            {"role": "assistant", "content": None, "tool_calls": [{"id": "a"}]},
            {"role": "tool", "tool_call_id": "a", "content": "42"},
            {"role": "assistant", "function_call": {"name": "f"}},
        ]
        transcript = formats.read(source)
        assert [turn.text for turn in transcript] == ["", "42", ""]
        assert formats.write(transcript) == source

    @pytest.mark.parametrize(
        ("message", "wanted"),
        [
            ("hi", "turn 1 is str.*message object"),
            ({"content": "hi"}, 'turn 1: "role" is missing'),
            ({"role": 3, "content": "hi"}, 'turn 1: "role" is int.*string'),
            ({"role": "user", "content": 3}, 'turn 1: "content" is int.*string, a list of parts, or null'),
            ({"role": "user", "content": {"type": "text"}}, 'turn 1: "content" is dict'),
            ({"role": "user"}, 'turn 1: "content" is missing'),
            ({"role": "user", "content": ["hi"]}, 'turn 1: "content", part 0 is str'),
            ({"role": "user", "content": [{"text": "hi"}]}, 'turn 1: "content", part 0: "type" is missing'),
            ({"role": "user", "content": [{"type": "text"}]}, 'turn 1: "content", part 0: "text" is missing'),
            ({"role": "user", "content": [{"type": "text", "text": None}]}, 'part 0: "text" is null'),
            ({"role": "assistant", "content": None, "tool_calls": {}}, 'turn 1: "tool_calls" is dict.*list'),
        ],
    )
    def test_bad_messages_name_the_turn_and_the_field(self, message: Any, wanted: str) -> None:
        """One clear error says where and what."""
        with pytest.raises(InputError, match=wanted):
            formats.read([{"role": "user", "content": "ok"}, message])

    def test_an_unknown_role_is_kept_and_named_once(self) -> None:
        """The reader warns and goes on."""
        source = [{"role": "narrator", "content": "so"}] * 2
        with pytest.warns(UserWarning, match="turn 0: unknown role 'narrator'") as caught:
            transcript = formats.read(source)
        assert len(caught) == 1
        assert transcript.turns[1].role == "narrator"
        assert formats.write(transcript) == source

    def test_blocks_that_do_not_fit_are_an_error(self) -> None:
        """A text that cannot be divided among its blocks is not written somewhere."""
        parts = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
        transcript = formats.read([{"role": "user", "content": parts}])
        with pytest.raises(InputError, match="turn 0 has 1 text blocks; its message has 2"):
            formats.write(transcript.with_turns([transcript.turns[0].with_text("one")]))
        with pytest.raises(InputError, match="turn 0 was not read from messages"):
            formats.write(transcript.with_turns([Turn("user", None, "x")]))


class TestRemovable:
    def free(self, *messages: dict[str, Any]) -> list[int]:
        transcript = formats.read([{"content": "thanks", **message} for message in messages])
        return [index for index in range(len(transcript)) if formats.removable(transcript, index)]

    def test_alternation_is_kept(self) -> None:
        """In a strict exchange only a last answer may go."""
        user, answer = {"role": "user"}, {"role": "assistant"}
        assert self.free(user, answer, user, answer) == [3]
        assert self.free({"role": "system"}, user, answer) == [2]
        assert self.free(user, answer, user) == []
        assert self.free(user) == []

    def test_one_of_two_messages_of_a_side_may_go(self) -> None:
        """Where a side speaks twice, its neighbours still alternate."""
        user, answer = {"role": "user"}, {"role": "assistant"}
        assert self.free(user, user, answer, answer, user) == [0, 1, 2, 3]

    @pytest.mark.parametrize(
        "extra",
        [
            {"tool_calls": [{"id": "a"}]},
            {"function_call": {"name": "f"}},
            {"cache_control": {"type": "ephemeral"}},
            {"audio": {"id": "x"}},
            {"content": [{"type": "text", "text": "x"}, {"type": "image"}]},
            {"content": [{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}]},
            {"content": None},
            {"content": []},
        ],
    )
    def test_what_carries_something_else_stays(self, extra: dict[str, Any]) -> None:
        """Calls, images, marks and unknown fields hold their message."""
        assert self.free({"role": "user"}, {"role": "assistant", **extra}) == []

    def test_tool_pairs_stay_together(self) -> None:
        """Nothing goes from beside a call or before a result, and a result counts as the user's side."""
        call = {"role": "assistant", "content": None, "tool_calls": [{"id": "a"}]}
        result = {"role": "tool", "tool_call_id": "a"}
        assert self.free({"role": "user"}, call, result, {"role": "assistant"}, {"role": "user"}) == []
        assert self.free({"role": "user"}, {"role": "assistant"}, result) == []

    def test_dropped_messages_are_left_out(self) -> None:
        """The rest keeps its order; a second drop sees the first."""
        source = [{"role": role, "content": str(n)} for n, role in enumerate(["user", "user", "assistant", "user"])]
        transcript = formats.read(source)
        turns = [formats.drop(transcript.turns[0]), *transcript.turns[1:]]
        dropped = transcript.with_turns(turns)
        assert formats.write(dropped) == source[1:]
        assert not formats.removable(dropped, 1)

    def test_text_and_lines_are_never_removable(self) -> None:
        """A speaker's turn keeps its place, a line of a file stays a line."""
        assert not formats.removable(formats.read("Ann: a\nAnn: b\n"), 1)
        lines = '{"role": "user", "content": "a"}\n{"role": "assistant", "content": "b"}\n'
        assert not formats.removable(formats.read(lines, "jsonl"), 1)


class TestJson:
    @settings(max_examples=50)
    @given(CONVERSATIONS, st.sampled_from([None, 1, 2, "\t"]), st.booleans(), st.sampled_from(["", "\n", "\r\n"]))
    def test_json_changes_in_its_texts_alone(
        self, messages: list[Any], indent: Any, ascii_only: bool, end: str
    ) -> None:
        """Unchanged it comes back byte for byte; changed it parses to the changed messages."""
        raw = json.dumps({"a": 1.50, "messages": messages, "z": [{}]}, indent=indent, ensure_ascii=ascii_only) + end
        transcript = formats.read(raw, "json")
        assert formats.write(transcript) == raw
        expected = formats.write(shorten(formats.read({"messages": messages})))
        assert json.loads(formats.write(shorten(transcript)))["messages"] == expected["messages"]

    @settings(max_examples=50)
    @given(st.lists(st.booleans(), max_size=6), st.sampled_from([None, 2]))
    def test_json_without_dropped_messages_is_still_json(self, gone: list[bool], indent: Any) -> None:
        """Commas go with the messages that go."""
        messages = [{"role": "user", "content": str(number)} for number in range(len(gone))]
        transcript = formats.read(json.dumps(messages, indent=indent), "json")
        turns = [formats.drop(turn) if drop else turn for turn, drop in zip(transcript, gone, strict=True)]
        written = formats.write(transcript.with_turns(turns))
        assert json.loads(written) == [message for message, drop in zip(messages, gone, strict=True) if not drop]

    def test_style_of_the_file_is_kept(self) -> None:
        """Numbers, escapes, spaces, the byte order mark and the last line end stay as they were written."""
        raw = '\ufeff{"t" : 1.0e5,\r\n "messages":[ {"content":"so \\u00e9 é", "role":"user"} ],"k":1, "k":2}\r\n'
        transcript = formats.read(raw, "json")
        changed = transcript.with_turns([transcript.turns[0].with_text("é é")])
        assert formats.write(changed) == raw.replace('"so ', '"')

    def test_a_text_that_is_there_twice_is_an_error(self) -> None:
        """A parser would lose one of them in silence."""
        with pytest.raises(InputError, match='key "text" is there twice'):
            formats.read('{"turns": [{"speaker": "A", "text": "x", "text": ""}]}', "json")

    def test_broken_json_names_its_place(self) -> None:
        """The line and the column are in the message."""
        with pytest.raises(InputError, match=r"line 2, column 1"):
            formats.read('{"messages":\n', "json")
        with pytest.raises(InputError, match='no "messages"'):
            formats.read('{"model": "m"}', "json")


class TestJsonl:
    RECORDS = (
        '[{"role": "user", "content": "well a"}]\n'
        '{"messages": [{"role": "user", "content": "well b"}], "id": 1.0}\r\n'
        "\n"
        "{broken\n"
        '{"turns": [{"role": "speaker", "speaker": "Ann", "text": "well c"}, {"speaker": "Bob", "text": "d"}]}\n'
        '{"messages": [{"role": "user", "content": 7}]}'
    )

    def test_records_are_read_one_by_one(self) -> None:
        """A line that cannot be read is reported with its number, and the rest go on."""
        found = list(formats.read_records(self.RECORDS, "jsonl"))
        assert [line for line, _ in found] == [1, 2, 4, 5, 6]
        assert "line 4: no valid JSON" in str(found[2][1])
        assert 'line 6: turn 0: "content" is int' in str(found[4][1])
        ann = found[3][1]
        assert isinstance(ann, Transcript)
        assert [(turn.role, turn.speaker) for turn in ann] == [("speaker", "Ann"), ("speaker", "Bob")]

    def test_records_are_written_back_into_their_lines(self) -> None:
        """All other lines, good or bad, stay as they are."""
        good = [record for _, record in formats.read_records(self.RECORDS, "jsonl") if isinstance(record, Transcript)]
        assert formats.write_records(self.RECORDS, good) == self.RECORDS
        changed = [
            record.with_turns(turn.with_text(turn.text.removeprefix("well ")) for turn in record) for record in good
        ]
        assert formats.write_records(self.RECORDS, changed) == self.RECORDS.replace("well ", "")
        assert formats.write_records(self.RECORDS, []) == self.RECORDS

    def test_message_lines_are_one_conversation(self) -> None:
        """Messages bare or in an envelope; among them other objects pass."""
        source = (
            '{"type": "summary", "text": "x"}\n'
            '{"role": "user", "content": "well hi\u2028"}\n'
            '{"type": "x", "message": {"role": "assistant", "content": [{"type": "text", "text": "well yo"}]}}\n'
        )
        transcript = formats.read(source, "jsonl")
        assert [(turn.role, turn.text) for turn in transcript] == [("user", "well hi\u2028"), ("assistant", "well yo")]
        assert formats.write(transcript) == source
        assert formats.write(shorten(transcript)) == source.replace("well", "ell")

    def test_a_file_of_several_conversations_is_not_one(self) -> None:
        """`read` refuses it and says what to use."""
        two = '[{"role": "user", "content": "a"}]\n' * 2
        with pytest.raises(InputError, match="2 conversations"):
            formats.read(two, "jsonl")
        with pytest.raises(InputError, match="line 1: the object holds no message"):
            formats.read('{"id": 1}\n', "jsonl")
        assert len(formats.read("\n", "jsonl")) == 0


class TestSources:
    @given(st.lists(st.text(max_size=10), min_size=1, max_size=4))
    def test_strings_stay_strings(self, source: list[str]) -> None:
        """A turn each, whole, without a role."""
        transcript = formats.read(source)
        assert [turn.text for turn in transcript] == source
        assert formats.write(transcript) == source

    def test_a_transcript_is_taken_as_it_is(self) -> None:
        """Nothing is read, nothing converted."""
        transcript = Transcript((Turn("speaker", "Ann", "hi"),))
        assert formats.read(transcript) is transcript
        assert formats.write(transcript) is transcript
        assert formats.write(formats.read([])) == []

    @pytest.mark.parametrize("source", [None, 3, 2.5, ("a", "b"), {"a"}, object()])
    def test_other_types_are_refused(self, source: Any) -> None:
        """The error names the type and what is allowed."""
        with pytest.raises(InputError, match=r"the source is \w+; allowed: a string, a list of chat messages"):
            formats.read(source)

    def test_mixed_lists_and_unknown_formats_are_refused(self) -> None:
        """The error names the turn, or the formats there are."""
        with pytest.raises(InputError, match="turn 1 is dict; the turns before are strings"):
            formats.read(["a", {"role": "user", "content": "b"}])
        with pytest.raises(InputError, match="turn 0 is None"):
            formats.read([None])
        with pytest.raises(InputError, match="unknown format 'docx'; allowed: text, json, jsonl"):
            formats.read("a", "docx")
        with pytest.raises(InputError, match='no "messages"'):
            formats.read({"prompt": "x"})

    def test_reading_known_roles_warns_of_nothing(self) -> None:
        """Warnings are for what is unknown."""
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            formats.read([{"role": role, "content": "x"} for role in ("user", "assistant", "developer", "function")])


class TestFiles:
    @pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
    @pytest.mark.parametrize(
        ("name", "content"),
        [
            ("a.txt", "Zoé: oui\r\nJosé: non\r\n"),
            ("a.json", '{"messages": [{"role": "user", "content": "é"}]}\n'),
            ("a.jsonl", '[{"role": "user", "content": "é"}]\n'),
            ("a.weird", '[\n  {"role": "user", "content": "é"}\n]'),
            ("a", "just é text"),
        ],
    )
    def test_files_come_back_byte_for_byte(self, tmp_path: Any, name: str, content: str, encoding: str) -> None:
        """In each encoding, from a path as from bytes."""
        data = content.encode(encoding)
        path = tmp_path / name
        path.write_bytes(data)
        assert formats.write_file(formats.read_file(path)) == data
        assert formats.write_file(formats.read_file(data)) == data
        expected = {"txt": "text", "json": "json", "jsonl": "jsonl", "weird": "json"}.get(name[2:], "text")
        assert formats.read_file(str(path)).format == formats.detect(path) == expected

    def test_damaged_utf16_is_refused_with_the_place(self) -> None:
        """No replacement characters: the error names the encoding and the byte."""
        with pytest.raises(InputError, match="begins as UTF-16-LE, but byte 2 of it cannot be decoded"):
            formats.read_file(b"\xff\xfea")

    def test_messages_in_memory_become_a_json_file(self) -> None:
        """What was not read from a file is written readable."""
        messages = [{"role": "user", "content": "é"}]
        written = formats.write_file(formats.read(messages)).decode()
        assert json.loads(written) == messages
        assert "é" in written

    def test_each_format_has_its_line(self) -> None:
        """The table knows every name, and no ending twice."""
        assert all(name == format.name and format.doc.endswith(".") for name, format in formats.FORMATS.items())
        endings = [ending for format in formats.FORMATS.values() for ending in format.extensions]
        assert len(endings) == len(set(endings))

    def test_paths_are_not_texts(self, tmp_path: Path) -> None:
        """The error says how a file is read; a file that is not there is named."""
        for source in (tmp_path / "none.json", b"{}"):
            with pytest.raises(InputError, match=r"Read a file first: compressor\.formats\.read_file\(path\)"):
                formats.read(source)
        with pytest.raises(InputError, match="none: No such file"):
            formats.detect(tmp_path / "none")

    @pytest.mark.parametrize("name", ["text", "json", "jsonl", "messages", "strings", "turns"])
    def test_each_format_refuses_other_types(self, name: str) -> None:
        """With an error of its own."""
        with pytest.raises(InputError, match="int"):
            formats.read(5, name)


class TestBlocks:
    @pytest.mark.parametrize(
        "blocks",
        [None, 5, "ab", [1], [(0,)], [("a", "b")], [(0, 9)], [(-1, 2)], [(2, 1)], [(0, 2), (1, 3)], [(2, 3), (0, 1)]],
    )
    def test_blocks_are_ranges_in_order(self, blocks: Any) -> None:
        """The error names the block."""
        with pytest.raises(InputError, match=r"Turn\.blocks.*; allowed: pairs"):
            Turn(text="abc", blocks=blocks)

    def test_a_list_of_blocks_is_made_a_tuple(self) -> None:
        """Turns are frozen."""
        assert Turn(text="abc", blocks=[[0, 1], [2, 3]]).blocks == ((0, 1), (2, 3))  # type: ignore[arg-type, list-item]


class TestLinesWithoutRoles:
    @pytest.mark.parametrize(
        "line", ['{"text": "no role", "content": "y"}', '{"content": "x"}', '{"message": {"content": "x"}}']
    )
    def test_messages_without_a_role_are_errors_of_their_line(self, line: str) -> None:
        """They are not passed over, and the others go on."""
        source = f'{{"role": "user", "content": "a"}}\n{line}\n{{"id": 1}}\n{{"type": "x", "content": "y"}}\n'
        found = list(formats.read_records(source, "jsonl"))
        assert [number for number, _ in found] == [1, 2]
        assert 'line 2: "role" is missing' in str(found[1][1])


@pytest.mark.parametrize(
    ("text", "is_kept"),
    [
        ("Um, so, Bob: it costs 40 euros.\nUm, so, Ann: not 50 euros.\n", True),
        ("Um, so, basically it costs 40 euros: cash.\nUm, so, Ann: not 50 euros.\n", False),
    ],
)
def test_no_speakers_come_out_of_plain_text(text: str, is_kept: bool) -> None:
    """The word before a name stays where the lines would become a dialogue without it."""
    result = compress(text, model="heuristic", preset="tight")
    assert len(formats.read(result.text)) == 1
    assert formats.misread(result.transcript) == ()
    assert ("so, Ann: not" in result.text) == is_kept
