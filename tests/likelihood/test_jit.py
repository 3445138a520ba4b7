"""The compiled cache is keyed by content: another source, another folder."""

from discreet.likelihood import jit


def test_an_edited_source_changes_the_folder(tmp_path, monkeypatch):
    (tmp_path / "jit.py").write_text("pass\n")
    (tmp_path / "compiled.py").write_text("x = 1\n")
    monkeypatch.setattr(jit, "__file__", str(tmp_path / "jit.py"))
    before = jit._digest.__wrapped__()
    assert jit._digest.__wrapped__() == before
    (tmp_path / "compiled.py").write_text("x = 2\n")
    assert jit._digest.__wrapped__() != before


def test_other_packages_keep_their_cache_setting(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    before = jit._get_folder()

    @jit.compiled
    def double(x):
        return 2 * x

    assert double(4) == 8
    assert jit._get_folder() == before
    assert list(tmp_path.rglob("*.nbi"))
