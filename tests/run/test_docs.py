"""The examples of docs/runs.md run as they are printed."""

from __future__ import annotations

import re
from pathlib import Path

from tests.support.home import Home

PAGE = (Path(__file__).parent.parent.parent / "docs" / "runs.md").read_text()
EXPECTED = {
    "plan.py": "a plan\na review of a plan\ndoubts about a plan\n",
    "verdict.py": "True 0\n",
    "workers.py": "left right\n",
}
JUDGE = 'while True:\n    input("judge> ")\n    print(\'{"approved": true}\')\n'


def test_every_example_runs(home: Home) -> None:
    (home.work / "judge.py").write_text(JUDGE)
    home.profile("judge", f"command: python3 {home.work}/judge.py\ninstructions: {{method: off}}\n")
    for name in "abc":
        home.run("start", "dummy", "--name", name)
    home.run("start", "judge")
    examples = dict(re.findall(r"```python\n# (\S+)\n(.*?)```", PAGE, re.S))
    assert set(examples) == set(EXPECTED)
    for name, text in examples.items():
        (home.work / name).write_text(text)
        assert home.run("run", name).stdout == EXPECTED[name]
        assert home.run("run", name, "--resume").stdout == EXPECTED[name]
