"""Columns of conversations: every layout of Arrow, bad rows, and nothing changed but texts."""

import doctest
import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pa = pytest.importorskip("pyarrow")

import pyarrow.compute as pc  # noqa: E402

import compressor.tables  # noqa: E402
from compressor import Compressor, InputError, Policy, PolicyError, compress  # noqa: E402
from compressor.tables import compress_rows, compress_table  # noqa: E402
from compressor.tabular.columns import check_type, replace, values  # noqa: E402
from tests.fakes import FixedScorer, word_counter  # noqa: E402

POLICY = Policy(keep_last=0)
CHAT = [
    {"role": "user", "content": "um, so, I would really like to know, you know, whether the fee is refundable."},
    {"role": "assistant", "content": "Sure, I would be happy to help you with that! The fee is not refundable."},
    {"role": "user", "content": "Okay, great, thank you so much."},
    {"role": "assistant", "content": "You are very welcome, of course, any time at all."},
]
SHORT = compress(CHAT, model="heuristic", keep_last=0).messages
CALL = "Ann: um, so, the fee is not refundable.\nBob: okay, okay, thanks!\n"
SHORT_CALL = compress(CALL, model="heuristic", keep_last=0).output

MESSAGE = pa.struct([("role", pa.string()), ("content", pa.string())])
PAIRS = pa.map_(pa.string(), pa.string())


@pytest.fixture(scope="module")
def machine() -> Compressor:
    """A compressor without a model."""
    return Compressor.from_pretrained("heuristic", policy=POLICY)


def batch_of(column: Any) -> Any:
    """A batch with a column of conversations and others around it, with metadata everywhere."""
    schema = pa.schema(
        [
            pa.field("id", pa.int64(), nullable=False, metadata={"PARQUET:field_id": "1"}),
            pa.field("messages", column.type, metadata={"of": "chats"}),
            pa.field("seen", pa.timestamp("ns", "Europe/Vienna")),
        ],
        metadata={"owner": "Graz"},
    )
    ids = pa.array(range(len(column)), pa.int64())
    return pa.RecordBatch.from_arrays([ids, column, ids.cast(pa.timestamp("ns", "Europe/Vienna"))], schema=schema)


LISTS = {
    "list": pa.list_(MESSAGE),
    "large list": pa.large_list(MESSAGE),
    "list view": pa.list_view(MESSAGE),
    "large list view": pa.large_list_view(MESSAGE),
    "list of fixed size": pa.list_(MESSAGE, len(CHAT)),
    "list of maps": pa.list_(PAIRS),
    "map as message, large text": pa.large_list(pa.map_(pa.string(), pa.large_string())),
    "dictionary as role": pa.list_(
        pa.struct([("role", pa.dictionary(pa.int8(), pa.string())), ("content", pa.string_view())])
    ),
    "dictionary as text": pa.list_(
        pa.struct([("role", pa.string()), ("content", pa.dictionary(pa.uint16(), pa.large_string()))])
    ),
    "bytes as text": pa.list_(pa.struct([("role", pa.binary()), ("content", pa.large_binary())])),
}


@pytest.mark.parametrize("type", LISTS.values(), ids=LISTS)
@pytest.mark.parametrize("cut", [slice(0, 6), slice(1, 3), slice(3, 6), slice(2, 2)], ids=str)
def test_lists_of_messages_are_compressed_in_every_layout(machine: Compressor, type: Any, cut: slice) -> None:
    """Nulls, slices with offsets and empty batches included; the type stays, and all that is no text."""
    rows = [None, CHAT, None, CHAT, CHAT, None]
    if "map" in str(type):
        rows = [row and [list(message.items()) for message in row] for row in rows]
    batch = batch_of(pa.array(rows, type)).slice(cut.start, cut.stop - cut.start)
    done = compress_table(batch, compressor=machine)
    done.validate(full=True)
    assert done.schema.remove(3).equals(batch.schema, check_metadata=True)
    assert done.column("id").equals(batch.column("id"))
    assert done.column("seen").equals(batch.column("seen"))
    assert done.column("compressor_error").null_count == len(batch)
    assert values(done.column("messages")) == [row and SHORT for row in values(batch.column("messages"))]


TEXTS = {
    "string": pa.string(),
    "large string": pa.large_string(),
    "string view": pa.string_view(),
    "binary": pa.binary(),
    "large binary": pa.large_binary(),
    "binary view": pa.binary_view(),
    "dictionary": pa.dictionary(pa.int8(), pa.string()),
    "ordered dictionary": pa.dictionary(pa.int64(), pa.large_string(), ordered=True),
    "runs": pa.run_end_encoded(pa.int32(), pa.string()),
}


@pytest.mark.parametrize("type", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("start", [0, 1, 3])
def test_strings_are_compressed_in_every_layout(machine: Compressor, type: Any, start: int) -> None:
    """Plain text and JSON text, each row by what it holds; JSON keeps its spaces and its order of keys."""
    rows = [None, CALL, json.dumps(CHAT, indent=1), CALL, "", None, '{"messages" :[]}']
    wanted = [None, SHORT_CALL, json.dumps(SHORT, indent=1), SHORT_CALL, "", None, '{"messages" :[]}']
    column = pc.run_end_encode(pa.array(rows)) if pa.types.is_run_end_encoded(type) else pa.array(rows, type)
    done = compress_table(batch_of(column).slice(start), compressor=machine)
    done.validate(full=True)
    assert done.schema.field("messages").type == type
    assert values(done.column("messages")) == wanted[start:]


def test_content_parts_tools_and_times_come_through(machine: Compressor) -> None:
    """In one struct type, where most fields are null in most messages, as files of logs have them."""
    part = pa.struct([("type", pa.string()), ("text", pa.string()), ("image", pa.binary())])
    call = pa.struct(
        [("id", pa.string()), ("function", pa.struct([("name", pa.string()), ("arguments", pa.string())]))]
    )
    message = pa.struct(
        [
            ("at", pa.timestamp("ns")),
            ("role", pa.string()),
            ("content", pa.list_(part)),
            ("tool_calls", pa.list_(call)),
            ("cost", pa.decimal128(9, 4)),
        ]
    )
    text = {"type": "text", "text": CHAT[0]["content"]}
    rows = [
        [
            {
                "at": 1,
                "role": "user",
                "content": [text, {"type": "image", "image": b"\x89PNG\xff"}, text],
                "cost": "1.5",
            },
            {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "fee", "arguments": "{}"}}]},
            {"role": "tool", "content": [text]},
            {"role": "assistant", "content": [{"type": "text", "text": CHAT[1]["content"]}]},
        ]
    ]
    column = pa.array(
        [[{**each, "cost": pa.scalar(each.get("cost")).cast(pa.decimal128(9, 4)).as_py()} for each in rows[0]]],
        pa.list_(message),
    )
    done = compress_table(batch_of(column), compressor=machine)
    assert done.column("compressor_error").to_pylist() == [None]
    items, old = done.column("messages").values, column.values
    for name in ("at", "role", "tool_calls", "cost"):
        assert items.field(name).equals(old.field(name))
    new = items.field("content").to_pylist()
    assert new[0] == [
        {**text, "text": SHORT[0]["content"], "image": None},
        old.field("content")[0].as_py()[1],
        new[0][0],
    ]
    assert new[1] is None
    assert new[2] == old.field("content")[2].as_py()
    assert new[3][0]["text"] == SHORT[1]["content"]


@pytest.mark.parametrize(
    ("row", "wanted"),
    [
        ([{"from": "human", "value": CHAT[0]["content"]}], [{"from": "human", "value": SHORT[0]["content"]}]),
        ({"id": 3, "messages": CHAT}, {"id": 3, "messages": SHORT}),
        ([{"speaker": "Ann", "text": CHAT[0]["content"]}], [{"speaker": "Ann", "text": SHORT[0]["content"]}]),
        (["um, so, the fee is not refundable.", "okay"], ["the fee is not refundable.", ""]),
    ],
    ids=["from and value", "object with messages", "speakers", "strings"],
)
def test_other_shapes_of_a_row_are_read(machine: Compressor, row: Any, wanted: Any) -> None:
    """What Arrow can hold of what `compress` takes."""
    done = compress_table(batch_of(pa.array([row])), compressor=machine)
    assert done.to_pylist()[0]["messages"] == wanted


def test_emptied_messages_are_left_out_of_lists() -> None:
    """Where the policy asks for it; rows keep their own messages."""
    rows = [CHAT, None, CHAT[:2] + CHAT[2:] * 2, []]
    policy = Policy(keep_last=0, emptied="drop")
    machine = Compressor(FixedScorer(lambda text: text in "fee refundable."), policy=policy)
    wanted = [row and machine.compress(row).messages for row in rows]
    assert any(len(new) < len(old) for new, old in zip(wanted, rows, strict=True) if old)
    for type in (pa.list_(MESSAGE), pa.large_list(MESSAGE), pa.list_view(MESSAGE), pa.list_(PAIRS)):
        column = pa.array([row and [list(m.items()) for m in row] if "map" in str(type) else row for row in rows], type)
        done = compress_table(batch_of(column), compressor=machine)
        done.validate(full=True)
        assert values(done.column("messages")) == wanted
    with pytest.raises(PolicyError, match="cannot lose a message"):
        compress_table(batch_of(pa.array([CHAT], pa.list_(MESSAGE, 4))), compressor=machine)


def test_bad_rows_keep_their_data_and_get_a_reason(machine: Compressor) -> None:
    """The rest goes on."""
    message = pa.struct([("content", pa.string()), ("role", pa.string())])
    column = pa.array([CHAT, [{"content": "x"}], CHAT, [None], None], pa.list_(message))
    done = compress_table(batch_of(column), compressor=machine, token_columns=("before", "after"))
    assert done.schema.names == ["id", "messages", "seen", "before", "after", "compressor_error"]
    errors = done.column("compressor_error").to_pylist()
    assert [error is None for error in errors] == [True, False, True, False, True]
    assert '"role"' in errors[1]
    assert done.column("messages")[1].as_py() == column[1].as_py()
    assert done.column("messages")[2].as_py() == [{"content": m["content"], "role": m["role"]} for m in SHORT]
    assert done.column("before").is_valid().to_pylist() == [True, False, True, False, False]
    assert done.column("before")[0].as_py() > done.column("after")[0].as_py() > 0


def test_without_an_error_column_the_first_bad_row_raises(machine: Compressor) -> None:
    """And is named; the error keeps its kind."""
    batch = batch_of(pa.array(["Ann: hi", '[{"content": "x"}]']))
    with pytest.raises(InputError, match=r"column 'messages', row 1: turn 0"):
        compress_table(batch, compressor=machine, error_column=None)
    assert compress_table(batch.slice(0, 1), compressor=machine, error_column=None).schema == batch.schema


def test_text_that_is_no_utf8_is_told_and_stays(machine: Compressor) -> None:
    """Arrow does not check strings; a broken one spoils no other row of its batch."""
    column = pa.array([b"Ann: um, hi", b"caf\xe9", CALL.encode()]).view(pa.string())
    done = compress_table(batch_of(column), compressor=machine)
    assert "byte 3 (0xe9)" in done.column("compressor_error")[1].as_py()
    assert done.column("messages").cast(pa.binary()).to_pylist()[1:] == [b"caf\xe9", SHORT_CALL.encode()]


def test_a_rule_that_fails_in_one_row_spoils_no_other() -> None:
    """Whatever it raises."""

    def rule(view: Any) -> list[Any]:
        if "Graz" in view.text:
            raise OSError("no map of Graz")
        return []

    class Moody(FixedScorer):
        def score(self, turns: Any, words: Any) -> Any:
            if any("Linz" in turn.text for turn in turns):
                raise ZeroDivisionError("no score for Linz")
            return super().score(turns, words)

    machine = Compressor(Moody(0.1), policy=Policy(also_protect=rule))
    rows = ["so we met", "um, in Graz", "um, in Linz", "so we met"]
    done = compress_table(batch_of(pa.array(rows)), compressor=machine)
    errors = done.column("compressor_error").to_pylist()
    assert errors[0] is errors[3] is None
    assert "no map of Graz" in errors[1]
    assert errors[2] == "ZeroDivisionError: no score for Linz"
    assert done.column("messages").to_pylist()[1:3] == rows[1:3]
    assert done.column("messages")[0].as_py() == done.column("messages")[3].as_py() != rows[0]


def test_a_table_keeps_its_type_and_its_rows(machine: Compressor) -> None:
    """Chunks included; also a table without any."""
    column = pa.chunked_array([[CALL, None], [], [CALL]], pa.string())
    table = pa.table({"messages": column, "n": pa.chunked_array([[1], [2, 3]])})
    done = compress_table(table, compressor=machine)
    assert isinstance(done, pa.Table)
    assert done.to_pydict() == {
        "messages": [SHORT_CALL, None, SHORT_CALL],
        "n": [1, 2, 3],
        "compressor_error": [None] * 3,
    }
    assert compress_table(table.slice(0, 0), compressor=machine).schema == done.schema
    assert compress_table(table.schema.empty_table(), compressor=machine).num_rows == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"column": "mesages"}, r"'mesages' is not there; the columns are: 'id', 'messages', 'seen'"),
        ({"column": "id"}, r"'id' holds int64; allowed: strings"),
        ({"column": "seen"}, r"holds timestamp"),
        ({"error_column": "id"}, r"'id', which is to be added, is there already"),
        ({"token_columns": ("n", "n")}, r"'n', which is to be added"),
        ({"token_columns": ("n",)}, r"token_columns is \('n',\); allowed"),
        ({"token_columns": "ab"}, r"token_columns is 'ab'"),
        ({"error_column": ""}, r"error_column holds ''"),
        ({"format": "xml"}, r"unknown format 'xml'; allowed: "),
        ({"model": "heuristic", "threads": 0}, r"threads is 0"),
    ],
)
def test_wrong_options_are_named(options: dict[str, Any], message: str) -> None:
    """With what is allowed, before any row is read."""
    with pytest.raises((InputError, PolicyError), match=message):
        compress_table(batch_of(pa.array([CALL])), **{"model": "heuristic", **options})


def test_dictionaries_of_whole_conversations_are_refused(machine: Compressor) -> None:
    """Arrow cannot make such a dictionary anew."""
    column = pa.DictionaryArray.from_arrays(pa.array([0, 0]), pa.array([CHAT], pa.list_(MESSAGE)))
    with pytest.raises(InputError, match="decode the dictionary first"):
        compress_table(batch_of(column), compressor=machine)


def test_columns_and_fields_of_the_same_name_are_refused(machine: Compressor) -> None:
    """Nobody could say which one is meant."""
    with pytest.raises(InputError, match="is there twice"):
        compress_table(pa.RecordBatch.from_arrays([pa.array(["x"])] * 2, ["messages"] * 2), compressor=machine)
    twice = pa.StructArray.from_arrays([pa.array(["user"])] * 3, ["role", "content", "content"])
    column = pa.ListArray.from_arrays([0, 1], twice)
    done = compress_table(batch_of(column), compressor=machine)
    assert "the field 'content' twice" in done.column("compressor_error")[0].as_py()


def test_a_format_can_be_forced(machine: Compressor) -> None:
    """Text that happens to be JSON is text if the caller says so."""
    column = pa.array(['{"note": "um, so, the fee is not refundable."}'])
    assert compress_table(batch_of(column), compressor=machine).column("compressor_error")[0].is_valid
    done = compress_table(batch_of(column), compressor=machine, format="text")
    assert done.column("compressor_error").null_count == 1


def test_rows_equal_those_of_a_single_run(shipped: Compressor) -> None:
    """With the shipped model, in one batch and in pieces, with a pattern that protects."""
    rows = [CHAT, CHAT[:2], CALL * 3, "So, um, well: call me at 5 p.m., okay?"]
    policy = Policy(keep_ratio=0.6, keep_last=0, also_protect=re.compile("okay"))
    column = pa.array([row if isinstance(row, str) else json.dumps(row) for row in rows])
    machine = Compressor(shipped.scorer, policy=policy)
    done = compress_table(pa.table({"messages": column}), compressor=machine)["messages"].to_pylist()
    alone = [compress_table(pa.table({"messages": column.slice(at, 1)}), compressor=machine) for at in range(4)]
    assert done == [each["messages"][0].as_py() for each in alone]
    for row, new in zip(rows, done, strict=True):
        output = machine.compress(row).output
        assert new == (output if isinstance(row, str) else json.dumps(output))


def test_reports_are_there_for_engines(machine: Compressor) -> None:
    """One outcome a row."""
    rows = compress_rows(batch_of(pa.array([CALL, None, '[{"content": "x"}]'])), compressor=machine)
    assert rows.outcomes[0].tokens_after == machine.compress(CALL).report.tokens_after
    assert rows.outcomes[1] is None
    assert isinstance(rows.outcomes[2], InputError)


def test_examples_of_docstrings_run() -> None:
    """Those of the public call."""
    assert doctest.testmod(compressor.tables).failed == 0


leaves = st.sampled_from(
    [pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.dictionary(pa.int32(), pa.string())]
)
others = st.sampled_from(
    [pa.int32(), pa.bool_(), pa.float64(), pa.timestamp("us"), pa.date32(), pa.null(), pa.string()]
)
field_names = st.sampled_from(["a", "b", "c"])


def containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Types that hold others."""
    return st.one_of(
        inner.map(pa.list_),
        inner.map(pa.large_list),
        inner.map(pa.list_view),
        inner.map(lambda item: pa.list_(item, 2)),
        inner.map(lambda item: pa.map_(pa.string(), item)),
        st.dictionaries(field_names, inner, min_size=1).map(lambda fields: pa.struct(list(fields.items()))),
    )


types = st.recursive(st.one_of(leaves, others), containers, max_leaves=5)


def value_of(type: Any) -> st.SearchStrategy[Any]:
    """Random values of a type, null among them."""
    if pa.types.is_dictionary(type):
        found = value_of(type.value_type)
    elif pa.types.is_struct(type):
        found = st.fixed_dictionaries({field.name: value_of(field.type) for field in type})
    elif pa.types.is_map(type):
        found = st.dictionaries(field_names, value_of(type.item_type), max_size=3).map(lambda made: list(made.items()))
    elif pa.types.is_fixed_size_list(type):
        found = st.lists(value_of(type.value_type), min_size=2, max_size=2)
    elif hasattr(type, "value_type"):
        found = st.lists(value_of(type.value_type), max_size=3)
    elif pa.types.is_binary(type):
        found = st.binary(max_size=3)
    elif "string" in str(type):
        found = st.text(st.characters(exclude_categories=["Cs"]), max_size=3)
    else:
        kinds = {"int32": st.integers(0, 9), "bool": st.booleans(), "double": st.floats(0, 1)}
        found = kinds.get(str(type), st.none() if pa.types.is_null(type) else st.integers(0, 99))
    return st.one_of(st.none(), found)


@st.composite
def columns(draw: st.DrawFn) -> Any:
    """Random columns, cut out of longer ones."""
    type = draw(types)
    column = pa.array(draw(st.lists(value_of(type), max_size=6)), type)
    start = draw(st.integers(0, len(column)))
    return column.slice(start, draw(st.integers(0, len(column) - start)))


def texts_of(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where in a value strings stand."""
    if isinstance(value, str):
        return [path]
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for key, item in pairs for found in texts_of(item, (*path, key))]


def put(value: Any, path: tuple[Any, ...], text: str) -> Any:
    """A value with another string at a path."""
    if not path:
        return text
    if isinstance(value, dict):
        return {key: put(item, path[1:], text) if key == path[0] else item for key, item in value.items()}
    return [put(item, path[1:], text) if index == path[0] else item for index, item in enumerate(value)]


def is_sound(column: Any) -> bool:
    """Whether pyarrow calls an array valid; it makes some itself that are not: an index into no dictionary, below a null."""
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


@settings(max_examples=150, deadline=None)
@given(columns(), st.data())
def test_replacing_texts_changes_nothing_else(column: Any, data: st.DataObject) -> None:
    """In columns of any nesting; the type stays, and the array is valid."""
    wanted = values(column)
    places = [(row, path) for row, value in enumerate(wanted) for path in texts_of(value)]
    chosen = data.draw(st.lists(st.sampled_from(places), unique=True) if places else st.just([]))
    for number, (row, path) in enumerate(chosen):
        wanted[row] = put(wanted[row], path, f"new {number}")
    done = replace(column, [(row, path, f"new {number}") for number, (row, path) in enumerate(chosen)])
    assert is_sound(done) or not is_sound(column)
    assert done.type == column.type
    assert values(done) == wanted


@settings(max_examples=100, deadline=None)
@given(columns())
def test_any_column_is_refused_or_comes_through(column: Any) -> None:
    """Random rows are no conversations: each keeps its data, whatever the reader makes of it."""
    machine = Compressor(FixedScorer(1.0), token_counter=word_counter)
    table = pa.table({"messages": column})
    try:
        check_type("messages", column.type)
    except InputError:
        return
    done = compress_table(table, compressor=machine)
    assert done.column("messages").to_pylist() == table.column("messages").to_pylist()
    assert done.column("messages").type == column.type
