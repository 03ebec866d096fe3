# Everything happens in .venv; nothing else on the machine is changed.
PYTHON ?= python3
BIN := .venv/bin
SOURCES := pyproject.toml CMakeLists.txt README.md $(wildcard src/kernel/*) $(shell find src/truecal -name '*.py' -o -name '*.pyi' -o -name 'page.*' -o -name 'schema.json')

KERNEL := pyproject.toml CMakeLists.txt $(wildcard src/kernel/*)
PARALLEL := --numprocesses $(shell getconf _NPROCESSORS_ONLN) --dist loadgroup

.PHONY: demo test long quick lint schema faults fuzz metamorphic sanitize threads ports coverage bench bench-growth bench-scale bench-peers reproduce study docs dist clean

demo: .venv/.installed
	$(BIN)/python -m truecal.demo

test: .venv/.test lint
	$(BIN)/python -m pytest $(PARALLEL)

# Every test with all of its cases; `make test` tries some of those that are many.
long: .venv/.test
	TRUECAL_LONG=1 $(BIN)/python -m pytest $(PARALLEL)

# Between edits: the sources as they are, without the slow tests; a wheel is built only where the kernel changed.
quick: .venv/.kernel
	PYTHONPATH=src $(BIN)/python -m pytest $(PARALLEL) -m "not slow" -q

lint: .venv/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The JSON Schema of every result, from the declared types of their fields.
schema: .venv/.kernel
	PYTHONPATH=src $(BIN)/python docs/schema.py

# Every call of a run to the system fails in turn; `make test` tries some of them.
faults: .venv/.test
	TRUECAL_FAULTS=all $(BIN)/python -m pytest $(PARALLEL) tests/faults

# Random files of CSV, read as other readers read them or refused; CASES and SEED ask for others.
fuzz: .venv/.test
	TRUECAL_FUZZ=$(or $(CASES),100000) TRUECAL_FUZZ_SEED=$(or $(SEED),14) $(BIN)/python -m pytest -q -s tests/reading/test_csv_fuzz.py

# Relations between runs on random data sets: what must not matter does not; CASES and SEED ask for others.
metamorphic: .venv/.test
	TRUECAL_METAMORPHIC=$(or $(CASES),5000) TRUECAL_METAMORPHIC_SEED=$(or $(SEED),0) $(BIN)/python -m pytest $(PARALLEL) tests/metamorphic

# The kernel under the address and undefined-behaviour sanitizers (GCC), built beside the usual one. Java, and so Spark,
# does not start under them.
sanitize: .venv/.test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --upgrade --target build/sanitized \
	  --config-settings=cmake.define.TRUECAL_SANITIZE=ON --config-settings=build-dir=build/sanitize .
	LD_PRELOAD="$$(cc -print-file-name=libasan.so) $$(cc -print-file-name=libstdc++.so)" ASAN_OPTIONS=detect_leaks=0 \
	  PYTHONPATH=build/sanitized $(BIN)/python -m pytest -q -k "not spark" \
	  tests/metrics tests/data tests/inference tests/verdict tests/analysis/test_slices.py \
	  tests/reading/test_accumulate.py tests/reading/test_csv_corpus.py tests/reading/test_files.py

# Each test in eight threads at once, except those that draw from the shared generator, or ask the one connection of DuckDB,
# and slow ones, which do more often what others do.
# Python 3.11 cannot rewrite assertions in several threads.
threads: .venv/.harden
	$(BIN)/python -m pytest -q --assert=plain --parallel-threads=8 -o thread_unsafe_fixtures=rng -k "not duckdb" -m "not slow" \
	  tests/metrics tests/data tests/inference tests/verdict
	$(BIN)/python -m pytest -q tests/test_threads.py

# The kernel for other systems, by what is at hand of Clang, GCC for ARM, MinGW and Emscripten, and by Zig, which is put into
# build/ and makes the libraries of each system first: some minutes. Run where something here runs it; a skip says what is not.
ports: .venv/.test
	test -x build/ports/ziglang/zig || $(BIN)/python -m pip install --quiet --disable-pip-version-check --target build/ports ziglang
	TRUECAL_PORTS=1 PATH="$(CURDIR)/build/ports/ziglang:$$PATH" $(BIN)/python -m pytest -v tests/test_kernel.py

# Lines and branches that no test reaches; `a->b` is a jump from one line to another.
coverage: .venv/.harden
	$(BIN)/python -m coverage erase
	$(BIN)/python -m coverage run -m pytest $(PARALLEL)
	$(BIN)/python -m coverage combine --quiet
	$(BIN)/python -m coverage report
	mkdir -p build
	$(BIN)/python -m coverage json --quiet -o build/coverage.json
	$(BIN)/python -c 'import json; found = json.load(open("build/coverage.json"))["totals"]; \
	  shares = [found[f"percent_{what}_covered"] for what in ("statements", "branches")]; \
	  print("{:.1f} % of lines, {:.1f} % of branches; at least 95 are asked for".format(*shares)); exit(min(shares) < 95)'

bench: .venv/.test
	$(BIN)/python benches/run.py
	$(BIN)/python benches/small.py
	$(BIN)/python benches/drawing.py
	$(BIN)/python benches/files.py
	$(BIN)/python benches/slices.py
	$(BIN)/python benches/segments.py
	$(BIN)/python benches/classes.py
	$(BIN)/python benches/recalibration.py

bench-growth: .venv/.test
	$(BIN)/python benches/growth.py

# 1e7 and 1e8 rows in Parquet, under a limit of 4 GB, then up to 1e9: half an hour and 5 GB of disk.
bench-scale: .venv/.test
	$(BIN)/python benches/scale.py exact
	$(BIN)/python benches/scale.py 1e7 "all distinct"
	$(BIN)/python benches/scale.py 1e8 "all distinct"
	for rows in 1e6 1e7 1e8 1e9; do $(BIN)/python benches/scale.py $$rows float32 || exit 1; done
	$(BIN)/python docs/speed.py

# Other packages beside ours, in an environment of their own, build/peers, which nothing else uses; about ten minutes.
bench-peers: .venv/.test
	$(BIN)/python benches/peers.py
	$(BIN)/python docs/speed.py

# The paper's tables and figures; DATA=folder or TRUECAL_DATA names the data at hand, the rest is downloaded.
reproduce: .venv/.test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group reproduce
	$(BIN)/python -m reproduction $(if $(DATA),--data $(DATA))

# How far references, intervals and tests can be trusted; about half an hour on one core.
study: .venv/.test
	cd study && for part in sizes level coverage landscape alert differences verdict plan classes gate segments drift monitor slices recalibration sampling clusters document; do ../$(BIN)/python $$part.py || exit 1; done

# The site, in build/site: pages and a reference of every public name; whatever warns, stops.
docs: .venv/.docs
	$(BIN)/python docs/site.py build/docs
	$(BIN)/zensical build --strict --clean >build/docs.log 2>&1 || { cat build/docs.log; exit 1; }
	! grep -i "^griffe:\|warning" build/docs.log

# What an index takes: a source archive, and the wheel that it gives on this machine, named for the systems that it runs on.
dist: .venv/.test
	rm -rf dist build/unnamed
	$(BIN)/python -m build --outdir build/unnamed
	mkdir -p dist && cp build/unnamed/*.tar.gz dist
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/auditwheel repair --wheel-dir dist build/unnamed/*.whl
	$(BIN)/twine check --strict dist/*
	$(BIN)/check-wheel-contents dist

clean:
	rm -rf .venv build dist

# The pip that comes with Python 3.11 knows no groups of dependencies.
.venv/.made:
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	touch $@

# The built wheel is what gets used and tested, not the source folder.
.venv/.installed: $(SOURCES) | .venv/.made
	$(BIN)/python -m pip install --quiet --disable-pip-version-check ".[all]"
	touch $@

.venv/.test: .venv/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group test --group release
	touch $@

.venv/.harden: .venv/.test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group harden
	touch $@

.venv/.docs: .venv/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group docs
	touch $@

.venv/.kernel: $(KERNEL) | .venv/.made
	$(BIN)/python -m pip install --quiet --disable-pip-version-check ".[all]" --group test --group release
	cp $(BIN)/../lib/python3*/site-packages/truecal/_kernel*.so src/truecal/
	touch $@
