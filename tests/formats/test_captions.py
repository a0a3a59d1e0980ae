"""WebVTT and SRT: who speaks is read, and nothing but deleted words is missing from what is written."""

import re
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compressor import Compressor, Transcript
from compressor.contract import is_subsequence
from compressor.errors import InputError
from compressor.formats import marked, read, sniff, write
from tests.strategies import WORDS, texts

TIMES = st.builds(
    lambda number, pause: f"00:{number // 60 % 60:02d}:{number % 60:02d}.{pause:03d} --> 00:59:{number % 60:02d}.500",
    st.integers(0, 3000),
    st.integers(0, 999),
)
MARKUP = st.sampled_from(
    [
        *("<i>", "</i>", "<b>", "<c.loud>", "</c>", "<ruby>", "<rt>", "<lang en>", "<00:00:01.500>", "<v Ann>", "</v>"),
        *(
            "<v.loud Bo Li>",
            "<v>",
            "<v Tom &amp; Jo>",
            "<",
            ">",
            "< 5",
            "&amp;",
            "&lt;",
            "&nbsp;",
            "&#8212;",
            "&bogus;",
            "&",
        ),
        *("- ", "\n- ", "\n-Ho", "- Ann: ", "Ann: ", "\nBob: ", ">> ", "{\\an8}", "\n", "\r\n", "7\n", "--", "♪ "),
    ]
)
PAYLOADS = st.lists(
    st.one_of(MARKUP, st.sampled_from(WORDS), st.sampled_from([" ", " ", "\n"]), texts(max_words=4)), max_size=9
).map("".join)
CUES = st.builds(
    lambda before, times, payload, end: f"{before}{times}{end}{payload}{end}{end}",
    st.sampled_from(["", "1\n", "intro\n", "NOTE so\nso\n\n", "STYLE\n::cue { }\n\n", "\n", "23\r\n"]),
    TIMES,
    PAYLOADS,
    st.sampled_from(["\n", "\n", "\r\n", "\r"]),
)
VTT_FILES = st.builds(
    lambda head, cues, tail: head + "".join(cues) + tail,
    st.sampled_from(["WEBVTT\n\n", "\ufeffWEBVTT - Kick-off\nKind: captions\n\n", "WEBVTT\r\n\r\n"]),
    st.lists(CUES, max_size=5),
    st.sampled_from(["", "\n", "NOTE bye", "00:00:01.000 --> 00:00:02.000", "00:00:01.000 --> 00:00:02.000\nno end"]),
)
SRT_FILES = st.lists(CUES, min_size=1, max_size=5).map(lambda cues: "".join(cues).replace(".", ","))


def speakers(source: str, format: str) -> list[tuple[str | None, str]]:
    return [(turn.speaker, turn.text) for turn in read(source, format)]


def without_some(transcript: Transcript, step: int) -> Transcript:
    """Each text block without every so manieth of its characters: no deletion that keeps words."""
    turns = []
    for turn in transcript:
        pieces: list[str] = []
        blocks: list[tuple[int, int]] = []
        at = 0
        for start, end in turn.blocks or ((0, len(turn.text)),):
            pieces.append("".join(char for place, char in enumerate(turn.text[start:end]) if place % step))
            blocks.append((at, at + len(pieces[-1])))
            at += len(pieces[-1]) + 1
        turns.append(turn.with_text(" ".join(pieces), tuple(blocks) if turn.blocks else ()))
    return transcript.with_turns(turns)


class TestRoundTrip:
    @given(VTT_FILES)
    @settings(max_examples=150, deadline=None)
    def test_webvtt_comes_back_character_for_character(self, source: str) -> None:
        """Whatever the markup."""
        assert write(read(source, "vtt")) == source

    @given(SRT_FILES)
    @settings(max_examples=150, deadline=None)
    def test_srt_comes_back_character_for_character(self, source: str) -> None:
        """Whatever the markup."""
        assert write(read(source, "srt")) == source

    @given(VTT_FILES)
    @settings(max_examples=60, deadline=None)
    def test_compressed_webvtt_has_all_its_markup_in_order(self, source: str) -> None:
        """Tags, times, notes and entities of kept words stay; reading it again gives the same turns."""
        self.check(source, "vtt")

    @given(SRT_FILES)
    @settings(max_examples=60, deadline=None)
    def test_compressed_srt_has_all_its_markup_in_order(self, source: str) -> None:
        """Counters, times and tags stay; reading it again gives the same turns."""
        self.check(source, "srt")

    def check(self, source: str, format: str) -> None:
        transcript = read(source, format)
        for result in (COMPRESSOR.compress(transcript, keep_ratio=0.3, keep_last=0), None):
            shorter = result.transcript if result else without_some(transcript, 3)
            if result:
                result.verify()
            written = write(shorter)
            assert is_subsequence(written, source)
            assert re.findall(r"[^\r\n]*-->[^\r\n]*", written) == re.findall(r"[^\r\n]*-->[^\r\n]*", source)
            tags = r"</?[A-Za-z.][^<>\r\n]*>|<\d[\d:.,]*>"
            assert re.findall(tags, written) == re.findall(tags, source)
            again = read(written, format)
            assert [(turn.role, turn.speaker) for turn in again] == [(turn.role, turn.speaker) for turn in transcript]


COMPRESSOR = Compressor.from_pretrained("heuristic")


class TestSpeakers:
    @pytest.mark.parametrize(
        ("payloads", "expected"),
        [
            (["<v Ann>Hi.</v>", "<v Bob>No.</v>"], [("Ann", "Hi."), ("Bob", "No.")]),
            (["<v Ann>Hi", "<v.loud.x Bo Li>No"], [("Ann", "Hi"), ("Bo Li", "No")]),
            (["<v Ann>Yes.</v> <v Bob>No.</v>"], [("Ann", "Yes."), ("Bob", "No.")]),
            (["<v Ann>Yes <v Bob>No"], [("Ann", "Yes"), ("Bob", "No")]),
            (["So <v Ann>yes</v> then"], [(None, "So"), ("Ann", "yes"), (None, "then")]),
            (["<v Ann>We do not", "<v Ann>sign."], [("Ann", "We do not sign.")]),
            (["<v Ann></v>", ""], [("Ann", ""), (None, "")]),
            (["<v Tom &amp; Jo>A &lt; B &amp; C&nbsp;D"], [("Tom & Jo", "A < B & C\u00a0D")]),
            (["<i>un<b>believ</b>able</i> <00:00:01.500><c>day</c>"], [(None, "unbelievable day")]),
            (["Ann: Hi.", "and more.", "Bob: No."], [("Ann", "Hi. and more."), ("Bob", "No.")]),
            (["<b>Ann:</b> Hi.", "<b>Bob:</b> No.", "Ann: So"], [("Ann", "Hi."), ("Bob", "No."), ("Ann", "So")]),
            (["- Hi.\n- No.", "More."], [(None, "Hi."), (None, "No. More.")]),
            (["-Hi you\nthere.\n-No."], [(None, "Hi you there."), (None, "No.")]),
            (["- Ann: Hi.\n- Bob: No.", "Right."], [("Ann", "Hi."), ("Bob", "No. Right.")]),
            (["Ann: Hi.", "&gt;&gt; No.", ">> Bob: So."], [("Ann", "Hi."), (None, "No."), ("Bob", "So.")]),
            (["Ann: it is\n-5 degrees", "- here", "Ann: ok"], [("Ann", "it is -5 degrees - here ok")]),
            (["two lines\nof one text"], [(None, "two lines of one text")]),
            (["a < b and <b\nc"], [(None, "a < b and <b c")]),
        ],
    )
    def test_voices_names_and_dashes_tell_who_speaks(self, payloads: list[str], expected: list[Any]) -> None:
        """A name holds for the cues behind it; a voice for its tag."""
        cues = "".join(f"00:00:0{n}.000 --> 00:00:0{n}.900\n{payload}\n\n" for n, payload in enumerate(payloads))
        assert speakers("WEBVTT\n\n" + cues, "vtt") == expected

    @pytest.mark.parametrize(
        ("source", "expected"),
        [
            ("1\n00:00:01,000 --> 00:00:02,000\nHi\n\nthere\n\n2\n00:00:02,000 --> 00:00:03,000\nyou", "Hi  there you"),
            ("1\n00:00:01,000 --> 00:00:02,000 X1:1 X2:2\nHi\n2\n00:00:02,000 --> 00:00:03,000\n1984", "Hi 1984"),
            ('00:00:01 --> 00:00:02\r\n{\\an8}<font color="#fff">Hi</font>\r\n\r\n', "Hi"),
            ("\ufeff1\n00:00:01,000-->00:00:02,000\nin\n1984\n\n2\n00:00:02,000 --> 00:00:03,000\nso", "in 1984 so"),
        ],
    )
    def test_srt_of_many_habits_is_read(self, source: str, expected: str) -> None:
        """Empty lines in a text, positions, missing counters and numbers that are words."""
        assert " ".join(turn.text for turn in read(source, "srt")) == expected
        assert write(read(source, "srt")) == source

    def test_a_pause_ends_a_turn(self) -> None:
        """Two seconds of silence part what is said without a name."""
        cue = "WEBVTT\n\n00:01.000 --> 00:02.000\nso\n\n00:0{}.000 --> 00:09.000\nthen\n"
        assert len(read(cue.format(3), "vtt")) == 1 + 0
        assert len(read(cue.format(4), "vtt")) == 2

    def test_notes_styles_and_headers_are_no_speech(self) -> None:
        """A cue may have an id like a note."""
        source = "WEBVTT Ann: hi\nX: 1\n\nNOTE Bob: no\n00:00 words\n\nSTYLE\n::cue{}\n\nNOTE\n00:01.000 --> 00:02.000\nyes\n"
        assert speakers(source, "vtt") == [(None, "yes")]


class TestWriting:
    def test_a_cue_that_lost_its_words_keeps_its_times_and_tags(self) -> None:
        """The file stays a valid one."""
        source = (
            "WEBVTT\n\n00:01.000 --> 00:02.000\n<v Ann>so <i>um</i></v>\n\n00:02.000 --> 00:03.000\n<v Bob>No.</v>\n"
        )
        transcript = read(source, "vtt")
        turns = [transcript.turns[0].with_text(""), transcript.turns[1]]
        assert write(transcript.with_turns(turns)) == source.replace("so <i>um</i>", "<i></i>")

    def test_words_are_taken_out_between_tags(self) -> None:
        """Also words that begin in one tag and end in another, and words that come twice."""
        source = "WEBVTT\n\n00:01.000 --> 00:02.000\n<i>no</i> not <b>un</b>able &amp; no\n"
        transcript = read(source, "vtt")
        turn = transcript.turns[0]
        for text, expected in (
            ("not unable", "<i></i>not <b>un</b>able"),
            ("no unable & no", "<i>no</i> <b>un</b>able &amp; no"),
            ("not no", "<i></i>not <b></b>no"),
        ):
            assert write(transcript.with_turns([turn.with_text(text)])).splitlines()[3] == expected

    @pytest.mark.parametrize("text", ["other words", "no not unable & no no", "not no"])
    def test_words_that_were_not_said_are_refused(self, text: str) -> None:
        """The error names the turn."""
        transcript = read("WEBVTT\n\n00:01.000 --> 00:02.000\nno not\n", "vtt")
        with pytest.raises(InputError, match="turn 0 says what its cue does not"):
            write(transcript.with_turns([transcript.turns[0].with_text(text)]))

    def test_a_turn_that_would_be_read_as_another_keeps_its_words(self, caplog: pytest.LogCaptureFixture) -> None:
        """`I told Bob: wait` must not become words of Bob's."""
        source = (
            "1\n00:00:01,000 --> 00:00:02,000\nAnn: Hi.\n\n2\n00:00:02,100 --> 00:00:03,000\nI told Bob: wait\n\n"
            "3\n00:00:03,000 --> 00:00:04,000\nBob: No.\n\n4\n00:00:05,000 --> 00:00:06,000\nAnn: So.\n"
        )
        transcript = read(source, "srt")
        first = transcript.turns[0]
        assert (first.speaker, first.text) == ("Ann", "Hi. I told Bob: wait")
        shorter = [first.with_text("Hi. Bob: wait", ((0, 3), (4, 13))), *transcript.turns[1:]]
        assert write(transcript.with_turns(shorter)) == source
        assert "turn 0 keeps all its words" in caplog.text

    def test_text_without_blocks_is_text_of_all_cues_or_none(self) -> None:
        """Which cue would it belong to?"""
        source = "WEBVTT\n\n00:01.000 --> 00:02.000\nso\n\n00:02.000 --> 00:03.000\nthen\n"
        transcript = read(source, "vtt")
        turn = transcript.turns[0]
        assert write(transcript.with_turns([turn.with_text("so then")])) == source
        assert "so" not in write(transcript.with_turns([turn.with_text("")]))
        with pytest.raises(InputError, match="turn 0 has 1 text blocks; it was said in 2 cues"):
            write(transcript.with_turns([turn.with_text("so")]))

    @pytest.mark.parametrize(
        ("format", "source", "message"),
        [
            ("vtt", "1\n00:00:01,000 --> 00:00:02,000\nHi", "no WebVTT: the file begins with '1"),
            ("vtt", "WEBVTTX", "no WebVTT"),
            ("srt", "Hello there", "no SRT: no line with the times"),
            ("vtt", 5, "int"),
            ("srt", None, "NoneType"),
        ],
    )
    def test_other_files_are_refused(self, format: str, source: Any, message: str) -> None:
        """With what is wrong."""
        with pytest.raises(InputError, match=message):
            read(source, format)

    @pytest.mark.parametrize("source", ["WEBVTT", "\ufeffWEBVTT", "WEBVTT\n\nNOTE x\n"])
    def test_files_without_cues_are_empty(self, source: str) -> None:
        """They are read and come back."""
        assert len(read(source, "vtt")) == 0
        assert write(read(source, "vtt")) == source

    def test_long_cues_take_linear_time(self) -> None:
        """Hostile markup is read at once."""
        for payload in ("<" * 99_000, "<v " * 33_000, "&amp" * 25_000, "<i>a" * 25_000, "-\n" * 50_000):
            source = f"WEBVTT\n\n00:01.000 --> 00:02.000\n{payload}\n"
            assert write(read(source, "vtt")) == source


class TestAlignment:
    @settings(deadline=None)
    @given(texts(max_words=10), st.randoms(use_true_random=False))
    def test_what_is_left_is_found_in_its_source(self, source: str, random: Any) -> None:
        """For any characters that were deleted."""
        shorter = "".join(char for char in source if random.random() < 0.7)
        spans = marked.align(source, shorter)
        assert spans is not None
        assert "".join(source[start:end] for start, end in spans) == shorter
        assert all(end <= start for (_, end), (start, _) in pairwise(spans))

    def test_words_are_not_pieced_together(self) -> None:
        """`at` is not taken from `table`."""
        assert marked.align("table at noon", "at noon") == [(6, 8), (8, 9), (9, 13)]


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("WEBVTT\n\n", "vtt"),
        ("\ufeffWEBVTT - x\r\n\r\n", "vtt"),
        ("WEBVTTX\n", "text"),
        ("1\n00:00:01,000 --> 00:00:02,000\nHi", "srt"),
        ("\ufeff\r\n 1\r\n00:00:01,000 --> 00:00:02,000\r\nHi", "srt"),
        ("00:00:01,000 --> 00:00:02,000\nHi", "srt"),
        ("1\nHi --> you\n", "text"),
    ],
)
def test_captions_are_told_by_their_content(head: str, expected: str) -> None:
    """By the head of WebVTT and the times of SRT."""
    assert sniff(head) == expected
