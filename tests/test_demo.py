import subprocess
import sys

import pytest

from truecal import demo


@pytest.fixture(scope="module")
def results():
    return demo.evaluate_models(*demo.simulate())


def test_the_event_is_rare():
    label, models = demo.simulate()
    assert label.mean() == pytest.approx(0.01, abs=0.001)
    assert list(models) == ["calibrated", "over-confident", "prior-shifted"]


def test_the_calibrated_model_stands_out(results):
    assert results["calibrated"]["tce"] < 16
    assert results["over-confident"]["tce"] > 2 * results["calibrated"]["tce"]
    assert results["prior-shifted"]["tce"] > 60
    assert max(result["ece"] for result in results.values()) < 0.02  # as the demo says


def test_it_prints_the_models_side_by_side(results, tmp_path):
    out = subprocess.run(
        [sys.executable, "-m", "truecal.demo"], capture_output=True, text=True, check=True, cwd=tmp_path
    ).stdout
    assert demo.compare(results) in out
    for result in results.values():
        assert result.format("tce") in out
    assert max(len(line) for line in out.splitlines()) <= 110
    written = [tmp_path / line.strip() for line in out.partition("Written")[2].splitlines()[1:]]
    assert written[0] == tmp_path / "demo" / "report.html"
    assert len(written) == 13
    assert all(path.stat().st_size > 10_000 for path in written)
