import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synapse.base import jsontext

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(VALUES)
def test_it_is_the_json_that_everybody_reads(value: object) -> None:
    assert json.loads(jsontext.dumps(value)) == value
    assert json.loads(jsontext.dumps(value, indent="  ")) == value
    for text in (json.dumps(value), json.dumps(value, indent=2, ensure_ascii=False)):
        assert jsontext.loads(f" {text}\n") == value


@pytest.mark.parametrize(
    "text", ["", " ", "{", '{"a": 1}x', "[1, 2", "nul", "NaN", '{"a" 1}', "\x00", '"\n"']
)
def test_what_is_not_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        jsontext.loads(text)


def test_it_is_refused_where_json_is_not_loaded_too() -> None:
    code = "from synapse.base.jsontext import loads\ntry: loads('{')\nexcept ValueError: print('refused')"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "refused\n"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1, 2}, b"bytes", [object()]])
def test_what_json_cannot_say_is_refused(value: object) -> None:
    with pytest.raises(ValueError):
        jsontext.dumps(value)
