"""What the reproduction is made of: causes, orders of ties, fits, downloads and stored files."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import missing

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))


for _needed in ("sklearn", "matplotlib"):
    try:
        import_module(_needed)
    except ImportError:
        missing(f"{_needed} is not installed")

from reproduction import __main__, cells, sources  # noqa: E402
from reproduction.cells import EQUAL, Cell, explain, read_cells  # noqa: E402
from reproduction.sources import Missing, Sources  # noqa: E402
from reproduction.uci_protocol import Split, fit, split  # noqa: E402
from reproduction.variants.bins import EqualRatesMerged, TailJoined, TruncatedQuantile  # noqa: E402
from reproduction.variants.ties import introsort_order, move_apart  # noqa: E402

from truecal import BoundedIsotonic, Quantile, Tally  # noqa: E402


def test_the_fewest_causes_are_found() -> None:
    def value_of(variants: frozenset[str]) -> float:
        return 2.0 if {"b", "c"} <= variants else 1.0

    assert explain(("t", "r", "c"), "1.00", value_of, ("a", "b", "c")).cause == EQUAL
    assert explain(("t", "r", "c"), "2.00", value_of, ("a", "b", "c")).cause == "b + c"
    assert explain(("t", "r", "c"), "3.00", value_of, ("a", "b", "c")).cause == cells.UNEXPLAINED


def test_scores_are_moved_apart_by_ulps_and_stay_within_one() -> None:
    score = np.array([0.0, 0.0, 0.5, 0.5, 1.0, 1.0])
    apart = move_apart(score)
    assert (np.diff(apart) > 0).all()
    assert apart.max() == 1.0
    assert apart == pytest.approx(score, abs=1e-15)


def test_introsort_sorts_and_is_stable_up_to_sixteen_rows() -> None:
    """NumPy hands 16 rows or fewer to insertion sort, which keeps equal rows in order."""
    rng = np.random.default_rng(0)
    long = rng.integers(0, 20, 3000) / 20
    order = introsort_order(long)
    assert sorted(order.tolist()) == list(range(3000))
    assert (np.diff(long[order]) >= 0).all()
    assert introsort_order(long[:16]).tolist() == np.argsort(long[:16], kind="stable").tolist()
    assert order.tolist() != np.argsort(long, kind="stable").tolist()


def test_truncated_cuts_fall_one_row_early() -> None:
    """0.29 x 6000 is 1739.9999999999998 in double precision."""
    tally = Tally.from_arrays(np.zeros(6000, dtype=int), (np.arange(6000) + 0.5) / 6000)
    assert TruncatedQuantile(100).partition(tally).starts[29] == 1739
    assert Quantile(100).partition(tally).starts[29] == 1740
    assert TruncatedQuantile(10).partition(tally).starts.tolist() == Quantile(10).partition(tally).starts.tolist()


def test_the_joined_tail_breaks_n_max() -> None:
    """40 rows of rates 0, 1, with limits 4 and 8: Algorithm 1 keeps the last four apart from a full block."""
    y = np.repeat([0, 1], 20)
    tally = Tally.from_arrays(y, (np.arange(40) + 0.5) / 40)
    paper = BoundedIsotonic(4, 8, sizes="paper").partition(tally)
    assert paper.n.max() <= 8
    assert TailJoined(4, 8).partition(tally).n[-1] == paper.n[-2:].sum()
    assert EqualRatesMerged(4, 8).partition(tally).n.max() > 8


def test_a_fit_is_cached_under_its_data_and_settings(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(80, 3))
    y = (x[:, 0] + rng.normal(size=80) > 0).astype(np.int64)
    parts = Split(x[:50], y[:50], x[50:], y[50:])
    first, again = (fit("small", "LR", parts, tmp_path) for _ in range(2))
    assert (first.cached, again.cached) == (False, True)
    assert np.array_equal(first.score, again.score)
    assert not fit("small", "LR", parts, tmp_path, C=0.1).cached
    assert not fit("small", "LR", Split(x[:49], y[:49], x[50:], y[50:]), tmp_path).cached
    assert sorted(path.suffix for path in (tmp_path / "models").iterdir()) == [".npz"] * 3


def test_another_set_under_the_same_name_is_refused() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(Missing, match="abalone"):
        split("abalone", rng.normal(size=(100, 2)), rng.integers(0, 2, 100))


def test_a_missing_set_is_named_and_the_rest_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError("no network")

    monkeypatch.setattr(sources.urllib.request, "urlopen", refuse)
    monkeypatch.setattr(cells, "RESULTS", tmp_path / "results")
    monkeypatch.setenv("TRUECAL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TRUECAL_DATA", str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["reproduction", "imagenet", "uci_stored", "gda_significance"])
    assert __main__.main() == 0
    told = capsys.readouterr().err
    assert "missing: imagenet labels (download failed: OSError: no network)" in told
    assert f"missing: {sources.STORED_PREDICTIONS}" in told
    assert all(cell.cause == "missing: imagenet labels" for cell in read_cells("imagenet"))
    assert len(read_cells("gda_significance")) == 84


def test_a_download_is_verified_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    remote = tmp_path / "remote"
    remote.mkdir()
    for name in ("labels", "preds_00"):
        np.save(remote / f"{name}.npy", np.array([0.0, 1.0]))
        digest = sources._digest(remote / f"{name}.npy")
        monkeypatch.setitem(sources.IMAGENET_SHA256, name, digest)
    monkeypatch.setattr(sources, "IMAGENET_URL", f"file://{remote}/{{}}.npy")
    found = Sources(None, cache=tmp_path / "cache")
    assert found.imagenet("AlexNet")[1].tolist() == [0.0, 1.0]
    np.save(remote / "preds_01.npy", np.array([0.5, 0.5]))
    with pytest.raises(Missing, match="preds_01.*sha256"):
        found.imagenet("VGG19")  # its true checksum is known, and this is not it
    assert not (tmp_path / "cache" / "imagenet" / "preds_01.npy").exists()
    np.save(tmp_path / "cache" / "imagenet" / "preds_00.npy", np.array([0.3, 0.3]))
    with pytest.raises(Missing, match="preds_00.*sha256"):
        found.imagenet("AlexNet")


def test_the_public_loader_is_asked_for_a_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """imbalanced-learn's `fetch_datasets` gives labels -1 and 1."""

    def fetch_datasets(*, data_home: str, filter_data: tuple[str, ...]) -> dict[str, SimpleNamespace]:
        assert Path(data_home).is_relative_to(tmp_path)
        return {filter_data[0]: SimpleNamespace(data=np.eye(3), target=np.array([-1, 1, -1]))}

    monkeypatch.setitem(sys.modules, "imblearn", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "imblearn.datasets", SimpleNamespace(fetch_datasets=fetch_datasets))
    found = Sources(None, cache=tmp_path)
    assert found.uci("isolet")[1].tolist() == [0, 1, 0]
    monkeypatch.delitem(sys.modules, "imblearn.datasets")
    assert found.uci("isolet")[0].shape == (3, 3)  # from the cache, its recorded checksum verified
    (tmp_path / "uci" / "isolet.npz").write_bytes(b"damaged")
    with pytest.raises(Missing, match="isolet.*sha256"):
        found.uci("isolet")


def test_a_spambase_of_another_shape_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    remote = tmp_path / "spambase.data"
    monkeypatch.setattr(sources, "SPAMBASE_URL", f"file://{remote}")
    np.savetxt(remote, np.zeros((2, 58)), delimiter=",")
    with pytest.raises(Missing, match="spambase.*shape"):
        Sources(None, cache=tmp_path / "a").uci("spambase")
    np.savetxt(remote, np.eye(4601, 58), delimiter=",", fmt="%d")
    x, y = Sources(None, cache=tmp_path / "b").uci("spambase")
    assert (x.shape, y.sum()) == ((4601, 57), 1)


def test_a_stored_file_is_not_replaced_by_a_poorer_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cells, "RESULTS", tmp_path)
    where = ("table", "row", "column")
    cells.write_cells("x", [Cell(*where, "1.0", 1.0, 1.0, EQUAL)])
    cells.write_cells("x", [cells.missing(where, "1.0", "somewhere")])
    assert [cell.truecal for cell in read_cells("x")] == [1.0]


def test_an_interrupted_run_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def stop(_: Sources) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("reproduction.gda_main.run", stop)
    monkeypatch.setattr(sys, "argv", ["reproduction", "gda_main"])
    assert __main__.main() == 130
    assert "goes on from here" in capsys.readouterr().err
