"""Files are written whole or not at all, and never over another one by accident."""

from __future__ import annotations

import os

import pytest

from onefit.errors import OneFitError
from onefit.files import check_writable, write_whole


def test_texts_and_bytes_are_written_as_they_are(tmp_path):
    assert write_whole(tmp_path / "a", "é\n").read_bytes() == b"\xc3\xa9\n"
    assert write_whole(str(tmp_path / "b"), b"\x00\r\n").read_bytes() == b"\x00\r\n"
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]


def test_a_file_that_is_there_needs_force(tmp_path):
    path = write_whole(tmp_path / "a", "old")
    with pytest.raises(OneFitError, match="exists"):
        write_whole(path, "new")
    assert path.read_text() == "old"
    assert write_whole(path, "new", force=True).read_text() == "new"


@pytest.mark.parametrize("force", [False, True])
def test_a_failure_leaves_what_was_there_and_nothing_else(force, tmp_path, monkeypatch):
    path = tmp_path / "a"
    if force:
        path.write_text("old")

    def fail(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OneFitError, match="No space left"):
        write_whole(path, "new", force=force)
    assert [each.read_text() for each in tmp_path.iterdir()] == (["old"] if force else [])


def test_a_file_that_appears_meanwhile_is_kept(tmp_path, monkeypatch):
    path, sync = tmp_path / "a", os.fsync

    def appear(descriptor):
        sync(descriptor)
        path.write_text("theirs")

    monkeypatch.setattr(os, "fsync", appear)
    with pytest.raises(OneFitError, match="by now"):
        write_whole(path, "ours")
    assert [each.read_text() for each in tmp_path.iterdir()] == ["theirs"]


def test_links_are_followed_and_permissions_are_those_of_the_umask(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    link.symlink_to(target)
    write_whole(link, "new", force=True)
    assert link.is_symlink()
    assert target.read_text() == "new"
    before = os.umask(0o027)
    try:
        assert write_whole(tmp_path / "fresh", "x").stat().st_mode & 0o777 == 0o640
    finally:
        os.umask(before)


def test_folders_that_are_not_there_are_named(tmp_path):
    with pytest.raises(OneFitError, match="There is no folder"):
        check_writable(tmp_path / "no" / "a")
    with pytest.raises(OneFitError, match="is a folder"):
        check_writable(tmp_path, force=True)


@pytest.mark.parametrize("force", [False, True])
def test_pipes_and_devices_are_never_replaced(force, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    (tmp_path / "link").symlink_to(pipe)
    for path in (pipe, tmp_path / "link", os.devnull):
        with pytest.raises(OneFitError, match="a pipe or a device"):
            write_whole(path, "text", force)
    assert pipe.is_fifo()
    assert sorted(os.listdir(tmp_path)) == ["link", "pipe"]


def test_what_utf8_does_not_have_is_escaped(tmp_path):
    assert write_whole(tmp_path / "a", "\udcff é").read_bytes() == b"\\udcff \xc3\xa9"
