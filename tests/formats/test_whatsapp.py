"""WhatsApp exports: messages of all locales, and what the app wrote itself."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compressor import Compressor
from compressor.contract import is_subsequence
from compressor.errors import InputError
from compressor.formats import read, sniff, write
from tests.strategies import texts

COMPRESSOR = Compressor.from_pretrained("heuristic")

HEADS = (
    "[14/02/2026, 3:34:09 PM] ",
    "[14/02/2026, 3:34:09\u202fPM] ",
    "[14.02.26, 15:34:09] ",
    "[2/14/26, 3:34:09\u00a0p.\u00a0m.] ",
    "[2026/2/14 下午3:34:09] ",
    "[2026. 2. 14. 오후 3:34:09] ",
    "\u200e[14/02/26, 15:34:09] ",
    "[14/02/26 15:34:09] ",
    "27-11-25 18:43 - ",
    "2/14/26, 3:34 PM - ",
    "2/14/26, 3:34\u202fPM - ",
    "14/2/26, 3:34 p.\u00a0m. - ",
    "14.02.26, 15:34 - ",
    "14. 02. 26, 15:34 - ",
    "14.2.2026 klo 15.34 - ",
    "14.02.26 г., 15:34 ч. - ",
    "14/02/2026 às 15:34 - ",
    "14/02/26 15.34 - ",
    "15:34, 14/02/2026 - ",
    "2026-02-14 15:34 - ",
    "2026/02/14 15:34 - ",
    "2026/2/14 下午3:34 - ",
    "2026年2月14日 上午3:34 - ",
    "2026년 2월 14일 오후 3:34 - ",
    "2026. 02. 14. 15:34 - ",
    "14/2/26, 3:34 μ.μ. - ",
    "١٤\u200f/٢\u200f/٢٠٢٦، ٣:٣٤ م - ",
    "۱۴۰۴/۱۱/۲۵،\u200f ۱۵:۳۴ - ",
)
NAMES = (
    ("Ann", "Ann"),
    ("Bram 🥕", "Bram 🥕"),
    ("~\u202fJo", "~\u202fJo"),
    ("\u202a+49\u00a0151\u00a01234\u202c", "+49\u00a0151\u00a01234"),
    ("+44 20 7946 0958", "+44 20 7946 0958"),
    ("10:30 Club", "10:30 Club"),
    ("Ops꞉ Nord", "Ops꞉ Nord"),
    ("王薇：客服", "王薇：客服"),
)
BODIES = st.one_of(
    texts(max_words=8),
    st.sampled_from(
        [
            "<Media omitted>",
            "\u200eimage omitted",
            "so um\nsee <Media weggelaten>",
            "Theo: bring it",
            "14 kg, 3:30",
            "so then [14/02/2026, 3:34:09 PM] Bob: no",
            "so\nthen 27-11-25 18:43 - Bob: no",
        ]
    ),
)
CHATS = st.builds(
    lambda first, head, messages, end: first + "".join(f"{head}{who}{body}{end}" for who, body in messages),
    st.sampled_from(["", "", "\ufeff", "so\n"]),
    st.sampled_from(HEADS),
    st.lists(st.tuples(st.sampled_from(["Ann: ", "Bo Li: ", "", "Ann:"]), BODIES), min_size=1, max_size=5),
    st.sampled_from(["\n", "\r\n"]),
)


def turns(source: str) -> list[tuple[str | None, str]]:
    return [(turn.speaker, turn.text) for turn in read(source, "whatsapp")]


class TestReading:
    @pytest.mark.parametrize("head", HEADS)
    def test_dates_of_all_locales_begin_a_message(self, head: str) -> None:
        """With the marks and spaces that phones put into them."""
        source = f"{head}Ann: hi\nyou\n{head}Bob added Ann\n{head}Bob: no"
        assert turns(source) == [("Ann", "hi\nyou"), (None, "Bob added Ann"), ("Bob", "no")]
        assert write(read(source, "whatsapp")) == source
        assert sniff(source) == "whatsapp"

    @pytest.mark.parametrize(("written", "name"), NAMES)
    def test_names_of_all_kinds_are_read(self, written: str, name: str) -> None:
        """Emoji, numbers, and characters that look like colons."""
        assert turns(f"14.02.26, 15:34 - {written}: a: b") == [(name, "a: b")]

    def test_a_line_feed_is_no_end_where_others_end_messages(self) -> None:
        """A message that quotes another one keeps it."""
        source = "".join(f"27-11-25 18:4{n} - Ann: one\r\n" for n in range(4)) + (
            "27-11-25 18:45 - Bob: see\n27-11-25 18:41 - Ann: one\r\n27-11-25 18:46 - Ann: two\r\n"
        )
        assert turns(source)[-2:] == [("Bob", "see\n27-11-25 18:41 - Ann: one"), ("Ann", "two")]

    def test_a_date_of_another_shape_is_part_of_a_message(self) -> None:
        """A chat that was pasted into one."""
        lines = ["[14.02.26, 15:34:09] Ann: hi", *["[14.02.26, 15:34:09] Bob: no"] * 5]
        source = "\n".join([*lines, "2/14/26, 3:34 PM - Cy: pasted"])
        assert turns(source)[-1] == ("Bob", "no\n2/14/26, 3:34 PM - Cy: pasted")

    def test_what_stands_before_the_first_message_is_a_turn(self) -> None:
        """The end of a message that an export cut off."""
        assert turns("and so on\n14.02.26, 15:34 - Ann: hi\n") == [(None, "and so on"), ("Ann", "hi")]

    @pytest.mark.parametrize("source", [5, "no dates\nat all", "14:30 - 15:00: lunch"])
    def test_other_texts_are_refused(self, source: Any) -> None:
        """With what is wrong."""
        with pytest.raises(InputError, match=r"no WhatsApp chat|int"):
            read(source, "whatsapp")


class TestWriting:
    @given(CHATS)
    @settings(max_examples=150, deadline=None)
    def test_chats_come_back_character_for_character(self, source: str) -> None:
        """Whatever the messages."""
        assert write(read(source, "whatsapp")) == source

    @given(CHATS)
    @settings(max_examples=60, deadline=None)
    def test_compressed_chats_are_read_as_the_same_messages(self, source: str) -> None:
        """As many turns of the same authors; notices are whole."""
        transcript = read(source, "whatsapp")
        result = COMPRESSOR.compress(transcript, keep_ratio=0.2, keep_last=0)
        result.verify()
        written = write(result.transcript)
        assert is_subsequence(written, source)
        again = read(written, "whatsapp")
        assert [(turn.role, turn.speaker) for turn in again] == [(turn.role, turn.speaker) for turn in transcript]
        notices = [turn.text for turn in transcript if turn.blocks == ((0, 0),)]
        assert [turn.text for turn in again if turn.blocks == ((0, 0),)] == notices

    @pytest.mark.parametrize(
        ("message", "kept"),
        [
            ("<Media omitted>", "<Media omitted>"),
            ("\u200eimage omitted", "\u200eimage omitted"),
            ("<Medien ausgeschlossen>", "<Medien ausgeschlossen>"),
            ("IMG-2026-WA01.jpg (Datei angehängt)\nso um, hello", "IMG-2026-WA01.jpg (Datei angehängt)\n"),
            ("so um, well \u200e<This message was edited>", " \u200e<This message was edited>"),
            ("so um, well <This message was edited>", " <This message was edited>"),
            ("This message was deleted", "This message was deleted"),
            ("You deleted this message.", "You deleted this message."),
            ("so um, well", ""),
        ],
    )
    def test_notices_inside_messages_are_whole(self, message: str, kept: str) -> None:
        """Only what the author wrote can go."""
        transcript = read(f"14.02.26, 15:34 - Ann: {message}\n", "whatsapp")
        text = transcript.turns[0].text
        blocks = transcript.turns[0].blocks or ((0, len(text)),)
        said = "".join(text[start:end] for start, end in blocks)
        assert text == message
        assert len(said) + len(kept) == len(message)
        assert is_subsequence(kept, message)
        assert not any(word in said for word in ("Media", "omitted", "deleted", "edited", "IMG"))

    def test_notices_of_the_app_are_never_altered(self) -> None:
        """They were said by no one."""
        source = (
            "14.02.26, 15:34 - Messages and calls are, um, you know, end-to-end encrypted.\n"
            "14.02.26, 15:35 - Ann changed the subject to “Trip: so, um, May”\n14.02.26, 15:35 - Ann: so um okay\n"
        )
        transcript = read(source, "whatsapp")
        assert [turn.role for turn in transcript] == ["none", "none", "speaker"]
        shorter = write(COMPRESSOR.compress(transcript, keep_ratio=0.0, keep_last=0).transcript)
        assert shorter.splitlines()[:2] == source.splitlines()[:2]

    def test_a_message_that_would_become_two_keeps_its_words(self) -> None:
        """A date at the head of a line begins a message."""
        source = "27-11-25 18:43 - Ann: see\nthat 27-11-25 18:43 - Bob: no\n27-11-25 18:44 - Ann: ok\n"
        transcript = read(source, "whatsapp")
        turn = transcript.turns[0]
        shorter = transcript.with_turns([turn.with_text(turn.text.replace("that ", "")), transcript.turns[1]])
        assert write(shorter) == source


@pytest.mark.parametrize(
    "source",
    [
        "2024-05-01 12:00:01 - ERROR: no disk\n2024-05-01 12:00:02 - ERROR: no disk\n",
        "[2024-05-01 12:00:01] INFO: up\n[2024-05-01 12:00:02] ERROR: down\n",
        "[2024-05-01 12:00:01] kernel: up\n[2024-05-01 12:00:02] kernel: down\n",
        "[00:01:02] Ann: hi\n[00:01:03] Bob: no\n",
        "Ann: hi\n[14/02/2026, 3:34:09 PM] Bob: no\n",
        "14/02/2026 we met at 15:34 - Ann: hi\n",
        "2024-05-01 12:00 - up\n2024-05-01 12:01 - down\n",
    ],
)
def test_logs_and_minutes_are_no_chats(source: str) -> None:
    """Detection is careful: plain text stays plain text."""
    assert sniff(source) == "text"
