"""A process forked from one that used polars would wait for threads that are not there: it is told so at once."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

SCRIPT = """
import multiprocessing, sys, truecal

def child(queue):
    for use in (lambda: truecal.read("d.csv", label="y", score="p"), lambda: truecal.Observations.load("t.parquet"),
                lambda: truecal.read(FRAME, label="y", score="p"), lambda: truecal.reading.scan("d.csv").collect(),
                lambda: truecal.reading.open_files("d.csv"), lambda: truecal.tce([0, 1], [0.2, 0.7])):
        try:
            queue.put(type(use()).__name__)
        except RuntimeError as error:
            queue.put(f"RuntimeError: {error}")

if __name__ == "__main__":
    import polars
    FRAME = polars.DataFrame({"y": [0, 1] * 50, "p": [0.25, 0.75] * 50})
    BEFORE
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    process = context.Process(target=child, args=(queue,))
    process.start()
    process.join(40)
    if process.is_alive():
        process.kill()
        sys.exit("hangs")
    while not queue.empty():
        print(repr(queue.get()))
"""


@pytest.mark.parametrize(
    ("before", "refused"),
    [
        ('truecal.read("d.csv", label="y", score="p")', True),
        ("FRAME.lazy().filter(polars.col('p') > 0.5).collect()", True),
        ("", False),
    ],
    ids=["after a file", "after polars of one's own", "after nothing"],
)
def test_a_forked_process_does_not_hang(tmp_path, before, refused):
    pytest.importorskip("polars")
    from truecal import Observations, Tally

    (tmp_path / "d.csv").write_text("y,p\n" + '"0",0.25\n1,0.75\n' * 50)  # quoted, so that polars reads it
    Observations("y", "p", {(): Tally.from_arrays([0, 1], [0.25, 0.75])}).save(tmp_path / "t.parquet")
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.replace("BEFORE", before))
    words = [sys.executable, "-W", "ignore", str(script)]
    run = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 0, run.stderr
    answers = run.stdout.splitlines()
    assert answers.pop() == "'float'"  # what needs no polars works
    for answer in answers:
        if refused:
            assert answer.startswith(
                "'RuntimeError: Files and polars frames must not be read in a process forked from one"
            )
            assert 'get_context("spawn")' in answer
    assert refused or " ".join(answers) == "'Observations' 'Observations' 'Observations' 'DataFrame' 'Files'"
    assert len(answers) == 5
