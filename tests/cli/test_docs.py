"""The examples of docs/commandline.md print what they say."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from command import environment

PAGE = Path(__file__).parents[2] / "docs" / "commandline.md"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    pytest.importorskip("polars")
    found = tmp_path_factory.mktemp("docs")
    code = re.search(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)[1]
    subprocess.run([sys.executable, "-c", code], cwd=found, check=True)
    return found


def test_examples_print_what_the_page_says(folder):
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    blocks = re.findall(r"```console\n(.*?)\n```", PAGE.read_text(), flags=re.DOTALL)
    examples = [example for block in blocks for example in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
    assert len(examples) == 16
    for example in examples:
        command, _, expected = example.partition("\n")
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            env=environment(PATH=path, COLUMNS="96"),
        )
        assert done.stdout.rstrip() == expected.rstrip()
