import contextlib
import io
import runpy
import sys

import pytest

from truecal import analysis, demo

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def demonstrated(tmp_path_factory):
    """The demo as `python -m truecal.demo` runs it: its results, what it prints, and where it writes."""
    made, out, folder = [], io.StringIO(), tmp_path_factory.mktemp("demo")

    real = analysis.evaluate

    def evaluate(*args, **options):
        made.append(real(*args, **options))
        return made[-1]

    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out):
        patch.setattr(analysis, "evaluate", evaluate)
        patch.setattr(sys, "argv", ["truecal.demo"])
        patch.delitem(sys.modules, "truecal.demo")
        patch.chdir(folder)
        runpy.run_module("truecal.demo", run_name="__main__")
    return dict(zip(demo.simulate(10)[1], made, strict=False)), out.getvalue(), folder


@pytest.fixture
def results(demonstrated):
    return demonstrated[0]


def test_the_event_is_rare():
    label, models = demo.simulate()
    assert label.mean() == pytest.approx(0.01, abs=0.001)
    assert list(models) == ["calibrated", "overconfident", "prior-shifted"]


def test_the_calibrated_model_stands_out(results):
    assert results["calibrated"]["tce"] < 16
    assert results["overconfident"]["tce"] > 2 * results["calibrated"]["tce"]
    assert results["prior-shifted"]["tce"] > 60
    assert max(result["ece"] for result in results.values()) < 0.02  # as the demo says
    beyond = {name: result.nulls["tce"].p_value <= 0.05 for name, result in results.items()}  # the usual level
    assert beyond == {"calibrated": False, "overconfident": True, "prior-shifted": True}
    words = {name: result.verdict.status for name, result in results.items()}
    assert words == {"calibrated": "consistent", "overconfident": "miscalibrated", "prior-shifted": "miscalibrated"}


def test_the_null_mean_is_beside_every_value(results):
    models, heads, *rows = demo.format_models(results).splitlines()
    assert models.split() == list(results)
    assert heads.split() == ["value", "if", "calibrated"] * 3
    assert len({len(line) for line in (models, heads, *rows)}) == 1  # columns end below each other
    for row, name in zip(rows, results["calibrated"].values, strict=True):
        cells = row.replace(" %", "%").split()
        assert cells[0] == name
        expected = [x for result in results.values() for x in (result[name], result.nulls[name].mean)]
        digits = results["calibrated"].metrics[name].unit.digits
        assert [float(cell.rstrip("%")) for cell in cells[1:]] == [round(x, digits) for x in expected]


def test_it_prints_the_models_side_by_side(demonstrated):
    results, out, folder = demonstrated
    assert demo.format_models(results) in out
    for result in results.values():
        assert result.format("tce") in out
    assert max(len(line) for line in out.splitlines()) <= 110
    assert out.count(results["prior-shifted"].format("ece")) == 1  # no metric but TCE is printed twice
    assert out.splitlines()[-1] == "Wrote demo/report.html, and 12 pictures beside it."
    written = list((folder / "demo").iterdir())
    assert sorted(path.suffix for path in written) == [".html", *[".png"] * 12]
    assert all(path.stat().st_size > 10_000 for path in written)
