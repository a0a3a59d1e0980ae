"""Files of any encoding and compression come back byte for byte, and damaged ones are named."""

import bz2
import gzip
import io
import lzma
import os
import sys
import tarfile
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from compressor import formats
from compressor.batch.sources import format_of
from compressor.errors import InputError
from compressor.formats.files import decode, encode
from compressor.formats.opening import create_text, open_text

PACKERS = {
    "": bytes,
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstandard.ZstdCompressor(write_checksum=True).compress,
}
TALK = "Zoé: ben, alors, bonjour à tous.\r\nJosé: la façade n'est pas payée.\n\rfin"


def reopened(data: bytes) -> tuple[str, str, str, tuple[str, ...], bytes]:
    """What `open_text` says of a file, and the bytes that `create_text` makes of it."""
    target = io.BytesIO()
    with open_text(io.BytesIO(data)) as opened:
        text = opened.stream.read()
    with create_text(
        target, encoding=opened.encoding, compression=opened.compression, odd_lines=opened.odd_lines
    ) as stream:
        for at in range(0, len(text), 7):
            stream.write(text[at : at + 7])
    return text, opened.encoding, opened.compression, opened.notes, target.getvalue()


class TestCompression:
    @pytest.mark.parametrize("compression", PACKERS)
    @pytest.mark.parametrize("name", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
    def test_each_compression_and_each_mark_come_back(self, compression: str, name: str) -> None:
        """Line ends and marks are part of the text."""
        data = TALK.encode(name)
        text, _, found, notes, written = reopened(PACKERS[compression](data))
        assert text.removeprefix("\ufeff") == TALK
        assert found == compression
        assert notes == ()
        if compression:
            with open_text(io.BytesIO(written)) as again:
                assert again.compression == compression
                assert again.stream.read() == text
        else:
            assert written == data

    @pytest.mark.parametrize("compression", [name for name in PACKERS if name])
    def test_files_of_several_members_are_read_to_the_end(self, compression: str) -> None:
        """As `cat` makes them of two."""
        pack = PACKERS[compression]
        with open_text(io.BytesIO(pack(b"so ") + pack(b"then"))) as opened:
            assert opened.stream.read() == "so then"

    @pytest.mark.parametrize("compression", [name for name in PACKERS if name])
    def test_damaged_archives_are_named(self, compression: str) -> None:
        """Cut short, or with other bytes inside; nothing is read from them."""
        data = PACKERS[compression](os.urandom(400).hex().encode())
        for damaged in (data[:-9], data[: len(data) // 2], data[:60] + b"\x00" * 40 + data[100:]):
            with (
                pytest.raises(InputError, match=f"compressed with {compression} and is (cut short|damaged)"),
                open_text(io.BytesIO(damaged)),
            ):
                pass

    def test_the_same_content_gives_the_same_bytes(self) -> None:
        """No time and no name of a file is written into the archive."""
        data = gzip.compress(TALK.encode(), mtime=1)
        assert reopened(data)[4] == reopened(data)[4]

    def test_a_missing_library_is_named_with_its_extra(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """For zstd and for the guess of encodings."""
        packed = PACKERS["zst"](b"so")
        monkeypatch.setitem(sys.modules, "zstandard", None)
        monkeypatch.setitem(sys.modules, "charset_normalizer", None)
        with pytest.raises(InputError, match=r"zstandard is not installed: pip install 'compressor\[batch\]'"):
            decode(packed)
        with pytest.raises(InputError, match=r"charset-normalizer.*pip install 'compressor\[batch\]'"):
            decode("Спикер: доброе утро, коллеги".encode("koi8-r"))
        assert decode("Zoé: bien".encode("cp1252"))[0] == "Zoé: bien"


class TestEncodings:
    @pytest.mark.parametrize(
        ("text", "encoding"),
        [
            ("Zoé: ben, voilà.", "latin-1"),
            ("It’s “fine” – €5, café", "cp1252"),
            ("Jörg: schön, das wäre großartig.", "cp1252"),
            ("Paweł: dzień dobry, proszę o żółtą książkę.", "cp1250"),
            ("Анна: доброе утро, коллеги, мы не подписали договор.", "cp1251"),
            ("Анна: доброе утро, коллеги, мы не подписали договор.", "koi8-r"),
            ("王薇：好的，谢谢。这款产品不是很差，但是明年不太可能量产。", "gb18030"),
            ("王薇：好的，謝謝。這款產品不是很差，但是明年不太可能量產。", "big5"),
            ("カロナールを飲まないでください。お願いします。", "shift_jis"),
            ("안녕하세요, 내일 만나요. 계약서에 서명하지 않았습니다.", "euc_kr"),
            ("Ann: hi there, and no", "utf-16-le"),
            ("Ann: hi there, and no", "utf-16-be"),
        ],
    )
    def test_other_encodings_are_told_by_the_text(self, text: str, encoding: str) -> None:
        """The right letters, never replacement signs; what was guessed is noted; the bytes come back."""
        data = f"{text}\r\n".encode(encoding)
        found, _, _, notes, written = reopened(data)
        assert found == f"{text}\r\n"
        assert written == data
        assert bool(notes) is not encoding.startswith("utf")

    @given(st.binary(max_size=60))
    @settings(max_examples=300, deadline=None)
    def test_any_bytes_come_back_or_are_refused(self, data: bytes) -> None:
        """There is no third."""
        try:
            text, encoding = decode(data)
        except InputError:
            return
        assert "\ufffd" not in text or b"\xef\xbf\xbd" in data
        if not encoding.compression:
            assert encode(text, encoding) == data

    def test_odd_lines_of_json_lines_are_read_and_written_in_their_own_encoding(self) -> None:
        """The others are UTF-8, and stay it."""
        lines = [
            '{"role": "user", "content": "Zoé"}\n'.encode(),
            '{"role": "assistant", "content": "façade"}\n'.encode("cp1252"),
            '{"role": "user", "content": "добрый день, коллеги, как дела"}\n'.encode("cp1251"),
            '{"role": "assistant", "content": "né"}'.encode("cp1252"),
        ]
        text, encoding, _, notes, written = reopened(b"".join(lines))
        assert all(word in text for word in ("Zoé", "façade", "né", "добрый день"))
        assert encoding == "utf-8"
        assert notes[0] == "line 2 read as cp1252, which was guessed"
        assert written == b"".join(lines)
        with open_text(io.BytesIO(b"".join(lines))) as opened:
            assert opened.encode(text.split("\n")[1] + "\n", 2) == lines[1]

    def test_a_changed_file_of_json_lines_keeps_the_encoding_of_each_line(self, tmp_path: Path) -> None:
        """Through reading, compression and writing."""
        path = tmp_path / "a.jsonl"
        lines = [
            '[{"role": "user", "content": "Zoé, so um"}]\n'.encode(),
            b'[{"role": "user", "content": "no\xe9l um"}]\n',
        ]
        path.write_bytes(b"".join(lines))
        content, encoding, name = formats.load(path)
        records = [record for _, record in formats.read_records(content, name)]
        changed = [one.with_turns(turn.with_text(turn.text.replace(" um", "")) for turn in one) for one in records]
        written = formats.encode(formats.write_records(content, changed), encoding)
        assert written == b"".join(lines).replace(b" um", b"")

    def test_stray_bytes_in_other_files_are_carried_through(self) -> None:
        """A file of UTF-8 is not read as something else for one of them."""
        data = "Zoé: oui\nAnn: café\n".encode() + b"Bob: \xff\xfe no\n"
        text, encoding, _, notes, written = reopened(data)
        assert text.startswith("Zoé: oui\nAnn: café\nBob: ")
        assert encoding == "utf-8"
        assert "line 3" in notes[0]
        assert written == data

    @pytest.mark.parametrize(
        ("data", "message"),
        [
            (b"PK\x03\x04", "a ZIP archive"),
            (b"%PDF-1.7", "a PDF document"),
            (b"PAR1\x00", "a Parquet table"),
            (b"\xef\xbb\xbfso\xff", "marked as UTF-8, but byte 5"),
            (b"\xff\xfea", "begins as UTF-16-LE, but byte 2"),
            (b"so\x00\x01\xff", "control characters"),
        ],
    )
    def test_what_is_no_text_is_named(self, data: bytes, message: str) -> None:
        """With its kind or the place of the damage."""
        with pytest.raises(InputError, match=message):
            decode(data)

    def test_characters_that_an_encoding_lacks_are_named(self) -> None:
        """Nothing is replaced."""
        with pytest.raises(InputError, match="cp1252 has no '王'"):
            encode("so 王", "cp1252")
        with pytest.raises(InputError, match="unknown encoding 'x-none'"):
            encode("so", "x-none")
        with (
            pytest.raises(InputError, match="unknown compression 'rar'; allowed: gz, bz2, xz, zst"),
            create_text(io.BytesIO(), compression="rar"),
        ):
            pass


class TestStreams:
    def test_a_large_file_is_never_in_memory(self, tmp_path: Path) -> None:
        """Nor what is inside a compressed one."""
        path = tmp_path / "large"
        line = "Zoé: so, um, the fee is 40 euros.\n" * 500
        with gzip.open(path, "wb", compresslevel=1) as file:
            for _ in range(1000):
                file.write(line.encode())
        tracemalloc.start()
        with open_text(path) as opened:
            size = sum(len(line) for line in opened.stream)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert size == 1000 * len(line)
        assert peak < 8 << 20

    def test_pipes_are_read(self) -> None:
        """They cannot be read twice."""

        class Pipe(io.BytesIO):
            def seekable(self) -> bool:
                return False

            def seek(self, *_: Any) -> int:
                raise OSError("a pipe")

        with open_text(Pipe(PACKERS["xz"](TALK.encode("cp1252")))) as opened:
            assert opened.stream.read() == TALK

    def test_the_file_of_the_caller_stays_open(self) -> None:
        """Who opened it closes it."""
        for packed in (b"so", gzip.compress(b"so")):
            file = io.BytesIO(packed)
            with open_text(file) as opened:
                opened.stream.readline()
            assert not file.closed

    def test_paths_as_strings_are_opened(self, tmp_path: Path) -> None:
        """A missing file is an OSError, as everywhere."""
        (tmp_path / "a").write_text("so", encoding="utf-8")
        with open_text(str(tmp_path / "a")) as opened:
            assert opened.stream.read() == "so"
        with pytest.raises(FileNotFoundError), open_text(tmp_path / "none"):
            pass


class TestBinary:
    @pytest.mark.parametrize("compression", PACKERS)
    def test_tar_archives_are_refused(self, compression: str) -> None:
        """Also inside a compressed file."""
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w") as tar:
            member = tarfile.TarInfo("talk.txt")
            member.size = len(TALK.encode())
            tar.addfile(member, io.BytesIO(TALK.encode()))
        with pytest.raises(InputError, match="tar archive"):
            decode(PACKERS[compression](archive.getvalue()))

    @pytest.mark.parametrize("data", [b"so\0so", "so \u00e9".encode() + b"\0\0", b"\xef\xbb\xbfso\0", b"caf\xe9\0"])
    def test_a_nul_is_no_text(self, data: bytes) -> None:
        """UTF-16 and UTF-32 are full of zero bytes; other texts have none."""
        with pytest.raises(InputError, match="control characters"):
            decode(data)


def test_notes_name_the_file(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A guess is told with the file that it is about."""
    path = tmp_path / "old.txt"
    path.write_bytes(TALK.encode("cp1252"))
    formats.load(path)
    assert f"{path}: read as cp1252" in caplog.text


class TestDetection:
    @pytest.mark.parametrize(
        ("name", "content", "expected"),
        [
            ("chat.txt", "14.02.26, 15:34 - Ann: hi\n", "whatsapp"),
            ("call.txt", "WEBVTT\n\n", "vtt"),
            ("call.txt", "1\n00:00:01,000 --> 00:00:02,000\nhi\n", "srt"),
            ("call.txt", "role,text\nuser,hi\n", "csv"),
            ("call.txt", '[{"role": "user", "content": "x"}]', "json"),
            ("call.txt", '{"messages": []}\n{"messages": []}\n', "jsonl"),
            ("call.txt", "[1]\nSo it is said, you know.\n", "text"),
            ("call.csv", "14.02.26, 15:34 - Ann: hi\n", "whatsapp"),
            ("call.md", "Ann: hi\nBob: no\n", "text"),
            ("a.tsv", "user\thi\n", "csv"),
            ("a.csv.gz", "user,hi\n", "csv"),
            ("a.vtt.zst", "WEBVTT\n\n", "vtt"),
            ("a.gz", '{"messages": []}\n{"messages": []}\n', "jsonl"),
        ],
    )
    def test_files_are_told_by_content_and_ending(self, tmp_path: Path, name: str, content: str, expected: str) -> None:
        """Captions and chats are called .txt, too; compressed files have two endings."""
        data = content.encode()
        compression = {".gz": "gz", ".zst": "zst"}.get(Path(name).suffix, "")
        (tmp_path / name).write_bytes(PACKERS[compression](data))
        assert formats.load(tmp_path / name)[2] == expected
        assert formats.detect(tmp_path / name) == expected
        assert format_of(content, tmp_path / name) == expected

    @pytest.mark.parametrize(
        ("content", "expected"),
        [
            ('{"a": 1}', "json"),
            ('\ufeff\n[\n  {"role": "user"}\n]\n', "json"),
            ('{"a": 1}\n{"a": 2}\n', "jsonl"),
            ('{broken\n{"a": 2}\n{"a": 3}\n', "jsonl"),
            ("[10:32] Ann: hi", "text"),
            ("{so}\nhi\n", "text"),
            ("[" + '{"role": "user", "content": "' + "so " * 40_000, "json"),
            ("[\n" + '{"role": "user", "content": "so"},\n' * 4_000, "json"),
            ('{"messages": ["' + "so " * 40_000 + '"]}', "json"),
            ('{"messages": ["' + "so " * 40_000 + '"]}\n{"messages": []}', "jsonl"),
            ("[" * 3000, "text"),
        ],
    )
    def test_json_is_told_from_its_head(self, content: str, expected: str) -> None:
        """Also where the head ends inside of a value, and where the first line is broken."""
        assert formats.sniff(content) == expected
