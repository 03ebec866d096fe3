"""How a case that failed is run again."""

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    report = yield
    if report.failed and "seed" in getattr(getattr(item, "callspec", None), "params", {}):
        file, _, name = item.nodeid.partition("::")
        relation, seed = name.partition("[")[0], item.callspec.params["seed"]
        command = f"TRUECAL_METAMORPHIC=1 TRUECAL_METAMORPHIC_SEED={seed} python -m pytest {file} -k {relation}"
        report.sections.append(("run again", f"relation {relation}, seed {seed}:\n{command}"))
    return report
