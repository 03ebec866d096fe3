"""The JSON Schema is that of the classes; tests/conftest.py validates every result that a test writes against it."""

import json
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import fastjsonschema
import pytest

import truecal

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((files("truecal") / "schema.json").read_text())


@pytest.fixture(scope="module")
def result():
    return truecal.evaluate([0, 1] * 100, [0.2] * 100 + [0.3] * 100)


def test_the_file_is_what_make_schema_writes(tmp_path):
    code = (
        "import sys; sys.path.insert(0, 'docs'); import schema, pathlib; schema.write_schema(pathlib.Path(sys.argv[1]))"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path / "schema.json"], cwd=ROOT, check=True)
    assert json.loads((tmp_path / "schema.json").read_text()) == SCHEMA, "run `make schema`"


def test_a_result_is_valid_and_a_changed_one_is_not(result):
    validate = fastjsonschema.compile(SCHEMA)
    written = json.loads(result.to_json())
    validate(written)
    for change in ({"n": "many"}, {"unknown": 1}, {"truecal": {**written["truecal"], "format": 1}}):
        with pytest.raises(fastjsonschema.JsonSchemaException):
            validate(written | change)
    without = {name: value for name, value in written.items() if name != "verdict"}
    with pytest.raises(fastjsonschema.JsonSchemaException):
        validate(without)


def test_a_code_that_is_none_is_refused(result):
    text = result.to_json().replace('"status": "miscalibrated"', '"status": "fine"')
    with pytest.raises((ValueError, fastjsonschema.JsonSchemaException)):
        fastjsonschema.compile(SCHEMA)(json.loads(text))
