"""Files that leave: strict in, whole or not at all out."""

import json
import os
import stat

import pytest

from discreet.documents import strict
from discreet.documents.strict import parse_strict, read_strict, serialise, write_new
from discreet.errors import ArtefactError, SettingsError


def listing(folder):
    return [item.name for item in folder.iterdir()]


BAD = {
    "duplicate key": b'{"a": 1, "a": 2}',
    "nested duplicate key": b'{"a": {"b": 1, "b": 1}}',
    "NaN": b'{"a": NaN}',
    "infinity": b'{"a": -Infinity}',
    "overflow": b'{"a": 1e999}',
    "long integer": b'{"a": ' + b"9" * 400 + b"}",
    "deep": b'{"a": ' + b"[" * 50 + b"]" * 50 + b"}",
    "very deep": b"[" * 200_000,
    "not UTF-8": b'{"a": "\xff"}',
    "not an object": b"[1, 2]",
    "truncated": b'{"a": [1, 2',
    "empty": b"",
    "two values": b"{} {}",
    "a control character": rb'{"a": ["\u001b[2J"]}',
    "a control character in a key": rb'{"a": {"b\nc": 1}}',
    "a mark that turns the line around": '{"a": "\u202e"}'.encode(),
    "half a character": rb'{"a": "\ud800"}',
}


@pytest.mark.parametrize("name", BAD)
def test_bad_json_is_refused(name):
    with pytest.raises(ArtefactError):
        parse_strict(BAD[name])


def test_a_large_file_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(strict, "LARGEST_FILE", 10)
    path = tmp_path / "a.json"
    path.write_bytes(b'{"a": 1234567}')
    with pytest.raises(ArtefactError, match="larger than"):
        read_strict(path)


def test_brackets_in_texts_are_no_nesting():
    value = {"a": "[" * 40 + '\\"{', "b": 1.5}
    assert parse_strict(serialise(value)) == value


def test_every_printable_text_is_taken():
    value = {"größe": 'naïve \\ "q" 🎲 \\n'}
    assert parse_strict(serialise(value)) == value
    assert parse_strict(json.dumps(value, ensure_ascii=False).encode()) == value


@pytest.mark.parametrize("end", [b"", b"\\", b"\\\n"])
def test_a_text_that_never_ends_is_refused_at_once(end):
    """In linear time: by the square of its length, this one would take a day."""
    with pytest.raises(ArtefactError, match="not JSON"):
        parse_strict(b'{"a": "' + b'\\"' * 1_000_000 + end)


def test_serialising_refuses_what_reading_would():
    with pytest.raises(ValueError, match="Out of range"):
        serialise({"a": float("nan")})


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ArtefactError, match=r"none\.json.*No such file"):
        read_strict(tmp_path / "none.json")


def test_written_files_are_private_and_alone(tmp_path):
    path = tmp_path / "model.json"
    write_new(path, b"{}")
    assert path.read_bytes() == b"{}"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert listing(tmp_path) == ["model.json"]


def test_an_existing_file_stays_unless_told(tmp_path):
    path = tmp_path / "model.json"
    path.write_text("old")
    with pytest.raises(SettingsError, match="exists"):
        write_new(path, b"new")
    assert path.read_text() == "old"
    write_new(path, b"new", overwrite=True)
    assert path.read_text() == "new"


def test_a_file_that_appears_meanwhile_stays(tmp_path, monkeypatch):
    path = tmp_path / "model.json"
    write = strict._write_durably

    def slow(temporary, content, mode):
        write(temporary, content, mode)
        path.write_text("theirs")

    monkeypatch.setattr(strict, "_write_durably", slow)
    with pytest.raises(SettingsError, match="exists now"):
        write_new(path, b"ours")
    assert path.read_text() == "theirs"
    assert listing(tmp_path) == ["model.json"]


@pytest.mark.parametrize("overwrite", [False, True])
def test_links_are_not_followed(tmp_path, overwrite):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "link").symlink_to(victim)
    with pytest.raises(SettingsError, match="symbolic link"):
        write_new(tmp_path / "link", b"x", overwrite=overwrite)
    assert victim.read_text() == "precious"


def test_a_full_disk_leaves_nothing(tmp_path, monkeypatch):
    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(SettingsError, match="No space left"):
        write_new(tmp_path / "model.json", b"x" * 100)
    assert listing(tmp_path) == []


def test_without_hard_links_the_name_is_claimed_first(tmp_path, monkeypatch):
    def unsupported(self, target):
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr("pathlib.Path.hardlink_to", unsupported)
    path = tmp_path / "model.json"
    write_new(path, b"first")
    assert path.read_bytes() == b"first"
    assert listing(tmp_path) == ["model.json"]


@pytest.mark.parametrize("name", ["missing/model.json", "."])
def test_places_that_cannot_be_written_are_named(tmp_path, name):
    with pytest.raises(SettingsError):
        write_new(tmp_path / name, b"x")


def test_round_trip_keeps_every_bit(tmp_path):
    values = {"numbers": [0.1, 1e-308, -1.7976931348623157e308, 5e-324, 123456789.12345679]}
    write_new(tmp_path / "a.json", serialise(values))
    assert read_strict(tmp_path / "a.json") == values
    assert json.loads(serialise(values)) == values
