"""CSV and TSV: rows and cells of many dialects, of which only changed texts are written anew."""

import csv
import io
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compressor import Compressor
from compressor.errors import InputError
from compressor.formats import csv_rows, read, read_records, sniff, write, write_records
from compressor.formats.pieces import pieces, read_piece, write_piece

COMPRESSOR = Compressor.from_pretrained("heuristic")

CELLS = st.lists(
    st.sampled_from([*'aé,;\t|" \n\u2028\ufeff王.', '""', "\r\n", "so um, okay", "- not", "{", "🏳️‍🌈"]), max_size=6
).map("".join)
DIALECTS = st.tuples(st.sampled_from(",;\t|"), st.sampled_from(["\n", "\r\n"]), st.sampled_from([0, 1, 2]))
TABLE = "id,role,text\n1,user,so um okay\n2,assistant,well yes\n"


@st.composite
def tables(draw: st.DrawFn) -> tuple[str, list[list[str]]]:
    """A table in some dialect of Python's csv module, and its rows."""
    delimiter, end, quoting = draw(DIALECTS)
    width = draw(st.integers(2, 4))
    header = ["role", "text", "note", "x"][:width]
    rows = draw(st.lists(st.lists(CELLS, min_size=width, max_size=width), min_size=1, max_size=5))
    file = io.StringIO()
    writer = csv.writer(file, delimiter=delimiter, lineterminator=end, quoting=(0, 1, 2)[quoting])
    writer.writerow(header)
    writer.writerows(rows)
    return draw(st.sampled_from(["", "\ufeff"])) + file.getvalue(), rows


class TestRows:
    @given(tables())
    @settings(max_examples=150, deadline=None)
    def test_cells_say_what_the_csv_module_reads(self, table: tuple[str, list[list[str]]]) -> None:
        """In each dialect that it writes, and every character comes back."""
        source, rows = table
        transcript = read(source, "csv")
        assert write(transcript) == source
        assert [turn.text for turn in transcript] == [row[1] for row in rows]

    @given(tables(), st.integers(1, 7))
    @settings(max_examples=60, deadline=None)
    def test_portions_make_no_difference(self, table: tuple[str, list[list[str]]], size: int) -> None:
        """A file that is read in parts gives the same pieces."""
        source, _ = table
        parts = [source[at : at + size] for at in range(0, len(source), size)]
        found = list(pieces(iter(parts), "csv"))
        assert "".join(piece.raw for piece in found) == source
        assert found == list(pieces([source], "csv"))

    @given(tables())
    @settings(max_examples=100, deadline=None)
    def test_changed_cells_alone_are_written_anew(self, table: tuple[str, list[list[str]]]) -> None:
        """The csv module reads the new texts, and the old other cells."""
        source, rows = table
        transcript = read(source, "csv")
        shorter = transcript.with_turns(turn.with_text(turn.text[1::2]) for turn in transcript)
        written = write(shorter)
        again = read(written, "csv")
        assert [turn.text for turn in again] == [row[1][1::2] for row in rows]
        assert [turn.speaker for turn in again] == [turn.speaker for turn in transcript]

    @given(st.text(alphabet=list('a,"\n\r;'), max_size=24))
    @settings(max_examples=300, deadline=None)
    def test_any_text_is_cut_into_rows(self, source: str) -> None:
        """Nothing is lost, whatever the quotes."""
        rows = list(csv_rows.rows([source], ","))
        assert "".join(row.raw for row in rows) == source
        for row in rows:
            edges = [edge for cell in row.cells for edge in cell]
            assert edges == sorted(edges)
            assert edges[-1:] <= [len(row.raw)]

    def test_lines_are_counted_in_cells_and_between(self) -> None:
        """Errors name the line of the file."""
        source = 'role,text\nu,"a\nb"\r\n\nv,c\rw,d\nbad\n'
        with pytest.raises(InputError, match="line 7: the row has 1 cells; the header has 2"):
            read(source, "csv")

    def test_many_open_quotes_take_linear_time(self) -> None:
        """A quote that is never closed is looked for once."""
        source = "role,text\n" + 'a,"b\n' * 2001
        records = list(read_records(source, "csv"))
        assert "never closed" in str(records[-1][1])


class TestColumns:
    @pytest.mark.parametrize(
        ("source", "options", "expected"),
        [
            ("role,content\nuser,hi\nAssistant,no\n", {}, [("user", "user", "hi"), ("assistant", "Assistant", "no")]),
            ("Speaker;Text\nAnn;hi, you\n", {}, [("speaker", "Ann", "hi, you")]),
            ("role\tname\tmessage\nuser\tAnn\thi\n", {}, [("user", "Ann", "hi")]),
            ("from|body|n\nAnn|hi|1\n", {}, [("speaker", "Ann", "hi")]),
            ("发言人,内容\n王薇,好的\n", {}, [("speaker", "王薇", "好的")]),
            ("text\nhi\nno\n", {}, [("none", None, "hi"), ("none", None, "no")]),
            ("a,b,c\nAnn,x,hi\n", {"text_column": "c", "role_column": "a"}, [("speaker", "Ann", "hi")]),
            ("text,note\nhi,yes\n", {"text_column": "note"}, [("none", None, "yes")]),
            ("sep=;\nrole;text\nuser;hi\n", {}, [("user", "user", "hi")]),
            ('\ufeff"role","text"\n"user","hi"', {}, [("user", "user", "hi")]),
            ("\n\nrole,text\nuser,\n", {}, [("user", "user", "")]),
            ("Message Text,Speaker-Role\nhi,Ann\n", {}, [("speaker", "Ann", "hi")]),
        ],
    )
    def test_columns_are_found_by_name_and_dialects_by_the_header(
        self, source: str, options: dict[str, str], expected: list[Any]
    ) -> None:
        """Small letters or capitals, spaces or not, in any order."""
        (piece,) = [piece for piece in pieces([source], "csv", **options) if piece.is_record]
        transcript = read_piece(piece, "csv", **options)
        assert [(turn.role, turn.speaker, turn.text) for turn in transcript] == expected
        assert write_piece(transcript) == piece.raw

    @pytest.mark.parametrize(
        ("source", "options", "message"),
        [
            ("user,hello\nbot,hi\n", {}, "the first row names no column with text: 'user', 'hello'"),
            ("a,b\n1,2\n", {"text_column": "c"}, "text_column is 'c'; the columns are 'a', 'b'"),
            (TABLE, {"column": "messages"}, "column is 'messages'; the columns are 'id', 'role', 'text'"),
            (TABLE, {"role_column": 5}, "role_column is 5; allowed: the name of a column"),
            ("", {}, "the table is empty"),
            ('"role,text\nx', {}, "line 1: a quote is opened and never closed"),
        ],
    )
    def test_missing_columns_are_named(self, source: str, options: dict[str, Any], message: str) -> None:
        """With those that are there."""
        with pytest.raises(InputError, match=message):
            list(pieces([source], "csv", **options))

    def test_a_header_alone_is_an_empty_conversation(self) -> None:
        """It comes back."""
        for source in ("role,text\n", "role,text", "\ufeffrole,text\r\n\r\n"):
            assert len(read(source, "csv")) == 0
            assert write(read(source, "csv")) == source


class TestConversations:
    SOURCE = (
        "conversation_id,speaker,text\na,Ann,so um yes\na,Bob,well no\n\nb,Ann,okay then\nb,x\n"
        'b,Bob,"un"closed\nc,Cy,last um\n'
    )

    def test_rows_with_one_id_are_a_conversation(self) -> None:
        """A bad row is reported by its line, and the others go on."""
        records = list(read_records(self.SOURCE, "csv"))
        found = [
            (line, str(record) if isinstance(record, InputError) else [turn.text for turn in record])
            for line, record in records
        ]
        assert found == [
            (2, ["so um yes", "well no"]),
            (5, ["okay then"]),
            (6, "line 6: the row has 2 cells; the header has 3."),
            (
                7,
                "line 7: a cell in quotes goes on behind them with 'closed'; allowed: cells in quotes that hold quotes "
                "twice.",
            ),
            (8, ["last um"]),
        ]

    def test_the_others_are_written_where_they_stood(self) -> None:
        """The bad rows stay as they are."""
        good = [record for _, record in read_records(self.SOURCE, "csv") if not isinstance(record, InputError)]
        assert write_records(self.SOURCE, good) == self.SOURCE
        shorter = [good[0].with_turns(turn.with_text("") for turn in good[0]), *good[1:]]
        assert write_records(self.SOURCE, shorter) == self.SOURCE.replace("so um yes", "").replace("well no", "")

    def test_several_conversations_are_no_single_one(self) -> None:
        """They would be mixed up."""
        with pytest.raises(InputError, match="holds 2 conversations"):
            read("session,text\n1,a\n2,b\n".replace("session", "session_id"), "csv")

    def test_a_cell_may_hold_a_conversation(self) -> None:
        """As JSON messages or as lines with names; the cell is quoted as it was."""
        messages = json.dumps([{"role": "user", "content": 'so um "yes"'}, {"role": "assistant", "content": "okay"}])
        file = io.StringIO()
        csv.writer(file).writerows([["id", "messages"], [1, messages], [2, "Ann: so um\nBob: well, no\n"]])
        source = file.getvalue()
        assert sniff(source) == "csv"
        records = [record for _, record in read_records(source, "csv")]
        assert [[(turn.role, turn.speaker, turn.text) for turn in record] for record in records] == [
            [("user", None, 'so um "yes"'), ("assistant", None, "okay")],
            [("speaker", "Ann", "so um"), ("speaker", "Bob", "well, no")],
        ]
        assert write_records(source, records) == source
        first, second = records
        shorter = [
            first.with_turns([first.turns[0].with_text('"yes"'), first.turns[1]]),
            second.with_turns([second.turns[0], second.turns[1].with_text("no")]),
        ]
        written = write_records(source, shorter)
        rows = list(csv.reader(io.StringIO(written, newline="")))
        assert json.loads(rows[1][1])[0]["content"] == '"yes"'
        assert rows[2] == ["2", "Ann: so um\nBob: no\n"]
        assert written.startswith("id,messages\r\n1,")

    def test_any_column_of_conversations_can_be_named(self) -> None:
        """`column` says which; a cell that is no conversation is reported by its line."""
        source = 'id,call\n1,"Ann: so\nBob: no"\n2,"[{""role"": 5}]"\n'
        records = list(read_records(source, "csv", column="call"))
        assert [turn.speaker for turn in records[0][1]] == ["Ann", "Bob"]
        assert records[1][0] == 4
        assert str(records[1][1]).startswith("line 4: ")


class TestSniffing:
    @pytest.mark.parametrize(
        "source",
        [TABLE, "role\ttext\nuser\thi\n", "\ufeffSpeaker;Text\r\nAnn;hi\r\n", 'id,messages\n1,"[]"\n'],
    )
    def test_tables_are_told_by_their_header(self, source: str) -> None:
        """Names of columns, and rows as wide as the header."""
        assert sniff(source) == "csv"

    @pytest.mark.parametrize(
        "source",
        [
            "role,text\n",
            "text\nhi\n",
            "Message, from Ann\nHi, you all, it is me\n",
            "text, role and more\nof it\n",
            "user,hello\nbot,hi\n",
            "Ann: hi, you\nBob: no, me\n",
            "",
        ],
    )
    def test_plain_text_is_no_table(self, source: str) -> None:
        """Commas alone make none."""
        assert sniff(source) == "text"


def test_compressed_tables_keep_their_other_cells() -> None:
    """The text of each row is shorter, all else is the same."""
    source = '"id";"role";"text"\r\n7;assistant;"Oh, well, so, um, you know, it is ""my"" flight; it is\r\nnot on Friday."\r\n'
    result = COMPRESSOR.compress(read(source, "csv"), keep_ratio=0.3, keep_last=0)
    result.verify()
    written = write(result.transcript)
    assert len(written) < len(source)
    assert written.startswith('"id";"role";"text"\r\n7;assistant;"')
    assert written.endswith('"\r\n')
    assert "not" in written
