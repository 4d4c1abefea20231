from synapse.cli.list import table
from synapse.registry import Entry
from synapse.terminal.cells import aligned, crop, width


def test_columns_are_measured_in_cells() -> None:
    lines = aligned([("NAME", "PORT"), ("レビュー", "8100"), ("e\u0301te", "8101"), ("a", "8102")])
    assert lines == ["NAME      PORT", "レビュー  8100", "e\u0301te       8101", "a         8102"]


def test_a_wide_character_is_not_cut_in_two() -> None:
    assert crop("日本語", 5) == "日本"
    assert width(crop("日本語", 5)) == 4


def test_the_list_of_agents_stays_in_line() -> None:
    entries: list[Entry] = [
        {
            "name": name,
            "agent_type": "dummy",
            "status": "READY",
            "port": 8200,
            "pid": 1,
            "working_dir": working_dir,
        }
        for name, working_dir in (("査読者", "/tmp/作業"), ("b", "/tmp/work"))
    ]
    lines = table(entries)
    starts = [
        width(lines[0].partition("DIRECTORY")[0]),
        *(width(line.partition("/")[0]) for line in lines[1:]),
    ]
    assert len(set(starts)) == 1
    assert all(width(line) <= 45 for line in table(entries, 45))
