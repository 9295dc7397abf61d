from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from evenflow import extras
from evenflow.errors import MissingExtra
from evenflow.extras import EXTRAS, explained, require

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"


def distributions(requirements: list[str]) -> set[str]:
    return {re.split(r"[\[<>=~! ]", one)[0] for one in requirements}


def test_pyproject_brings_what_the_extras_say() -> None:
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    offered = project["optional-dependencies"]
    base = distributions(project["dependencies"])
    known = packages_distributions()
    for extra, modules in EXTRAS.items():
        brought = {known[module][0] for module in modules}
        assert brought <= distributions(offered[extra]), extra
        assert not brought & base, extra
    assert set(offered) == {*EXTRAS, "all", "dev"}
    assert offered["all"] == [f"evenflow[{','.join(sorted(EXTRAS))}]"]


def test_what_is_there_is_not_missed() -> None:
    for extra in EXTRAS:
        require(extra)


def test_what_is_missing_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None if name == "pandas" else object())
    with pytest.raises(MissingExtra) as caught:
        require("spark")
    assert caught.value.missing == ("pandas",)
    assert str(caught.value) == 'pandas not installed: pip install "evenflow[spark]"'
    assert isinstance(caught.value, ImportError)


def test_a_failed_import_is_explained() -> None:
    found = explained(ModuleNotFoundError("no", name="scipy.spatial"))
    assert isinstance(found, MissingExtra)
    assert found.extra == "store"
    other = ModuleNotFoundError("no", name="evenflow.nowhere")
    assert explained(other) is other


@pytest.mark.parametrize(
    ("missing", "statement", "extra"),
    [
        ("pyspark", "import evenflow.spark.session", "spark"),
        ("pyspark", "import evenflow.durable.spark", "spark"),
        ("scipy", "import evenflow.cli.broker", "store"),
        (
            "cel_expr_python",
            "from evenflow.autonomic.analyze.expression import Expression as E; E('a', ())",
            "events",
        ),
    ],
)  # fmt: skip
def test_our_packages_say_which_extra_they_lack(missing: str, statement: str, extra: str) -> None:
    script = f"""
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == {missing!r}:
            raise ModuleNotFoundError(name=name)
sys.meta_path.insert(0, Hidden())
import importlib.util, evenflow.extras
evenflow.extras.find_spec = lambda name: None if name == {missing!r} else True
from evenflow.errors import MissingExtra
try:
    {statement.replace("; ", chr(10) + "    ")}
except MissingExtra as error:
    print(error.extra)
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout == f"{extra}\n"


def test_publisher_is_light_to_import() -> None:
    script = "import sys; from evenflow import Publisher; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = set(ran.stdout.split())
    heavy = {module for modules in EXTRAS.values() for module in modules}
    later = {"cyclonedds", "pyarrow", "asyncio", "importlib.metadata"}
    assert not loaded & (heavy | later | {"rich", "rich_click", "psutil"})
