"""The whole run, its reports and the gate, on a handful of cases."""

import copy
import json
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from compressor.evaluation.cli import evaluate as evaluate_command
from compressor.evaluation.cli import gate as gate_command
from compressor.evaluation.errors import BaselineError
from compressor.evaluation.gate import compare, read_baseline, slim, update_metrics
from compressor.evaluation.runner import Settings, evaluate
from compressor.evaluation.tables import report
from tests.evaluation.conftest import ANNOTATED, FLIP
from tests.evaluation.test_systems import HERE as SYSTEMS

Result = dict[str, Any]


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """One flip case and two annotated transcripts, without a model."""
    folder = tmp_path_factory.mktemp("cases")
    for name, records in (("flips", [FLIP]), ("annotated", [ANNOTATED, {**ANNOTATED, "id": "second"}])):
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    return Settings(
        systems=("none", "light", "keep_ratio=0.5"),
        model="heuristic",
        cases=(str(folder / "flips.jsonl"),),
        annotated=(str(folder / "annotated.jsonl"),),
        drift=(4,),
        resamples=50,
    )


@pytest.fixture(scope="module")
def result(settings: Settings) -> Result:
    """Its evaluation; copy before changing it."""
    return evaluate(settings)


@pytest.fixture
def worse(result: Result) -> Result:
    """A copy to spoil."""
    return copy.deepcopy(result)


@pytest.fixture
def any_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three short transcripts on a busy machine say nothing about speed."""
    monkeypatch.setattr("compressor.evaluation.gate.SPEED_BOUND", float("inf"))


def without_times(value: Any) -> Any:
    """A result without what the clock and the memory say."""
    if isinstance(value, dict):
        return {
            key: without_times(one)
            for key, one in value.items()
            if not key.startswith(("seconds", "cpu_seconds", "peak", "reference_s"))
        }
    return value


def test_a_run_is_deterministic_and_plain(settings: Settings, result: Result) -> None:
    """The same seed gives the same figures; all of them are JSON; the settings come back from it."""
    again = json.loads(json.dumps(evaluate(settings)))
    assert without_times(again) == without_times(json.loads(json.dumps(result)))
    assert Settings.from_dict(again["settings"]) == settings


def test_random_deletion_stands_beside_every_system_at_its_ratio(result: Result) -> None:
    """Per transcript no more tokens than the system kept, and few less; `none` needs no such row."""
    assert "random" not in result["systems"]["none"]
    for name in ("light", "keep_ratio=0.5"):
        own = result["systems"][name]
        kept, random = own["cost"]["tokens_after"], own["random"]["cost"]["tokens_after"]
        assert kept - 9 <= random <= kept
        assert set(own["above_random"]) == {"intact", "answerability"}


def test_the_report_says_what_was_not_measured(settings: Settings, result: Result) -> None:
    """Without a reader, and without annotated transcripts, a plain line names what needs them."""
    text = report(result)
    assert "No reader was given: answered right, flipped, other and consistency" in text
    assert "No annotated transcripts" not in text
    assert "| · random" in text
    assert "light: survival" in text
    bare = evaluate(Settings(systems=("none",), cases=settings.cases, drift=()))
    assert "No annotated transcripts were given: gold coverage, answerability and deletion quality" in report(bare)


def test_a_function_that_rewrites_is_marked(settings: Settings) -> None:
    """It is graded beside the others, with a reader that is a function."""
    runner = CliRunner()
    arguments = ["--system", f"{SYSTEMS}:first_words", "--reader", f"{SYSTEMS}:always_b", "--cases", settings.cases[0]]
    done = runner.invoke(evaluate_command, [*arguments, "--no-drift", "--resamples", "20"])
    assert done.exit_code == 0, done.output
    assert "No reader was given" not in done.output
    assert "| right " in done.output


def test_the_page_is_well_formed_and_self_contained(result: Result) -> None:
    """It parses as XML, holds four plots, loads nothing and runs nothing."""
    pytest.importorskip("matplotlib")
    from compressor.evaluation.page import page

    text = page(result)
    root = ET.fromstring(text.partition("\n")[2])
    assert len(root.findall(".//{http://www.w3.org/2000/svg}svg")) == 4
    assert "<script" not in text
    assert 'src="' not in text
    assert text == page(result)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--system", "medium"], "there is no system 'medium'"),
        (["--cases", "nowhere.jsonl"], "nowhere.jsonl: no such file"),
        (["--reader", "http://localhost:1/v1"], "needs the name of a model"),
        (["--summariser", "http://localhost:1/v1"], "needs the name of a model: --summariser-model"),
        (["--model", "nowhere"], "no model folder at nowhere"),
        (["--json", "nowhere/result.json"], "nowhere/result.json: the folder does not exist"),
    ],
)
def test_bad_usage_is_one_line_and_status_2(arguments: list[str], message: str) -> None:
    """No trace is shown."""
    done = CliRunner().invoke(evaluate_command, [*arguments, "--no-drift"])
    assert done.exit_code == 2
    assert message in done.output
    assert "Traceback" not in done.output


def test_the_gate_passes_on_what_it_was_made_from(result: Result, tmp_path: Path, any_speed: None) -> None:
    """Metrics of the training stay beside it; status 0 and one line."""
    path = tmp_path / "metrics.json"
    path.write_text('{"light": {"f1": 0.8}}')
    update_metrics(path, result)
    assert json.loads(path.read_text())["light"] == {"f1": 0.8}
    assert "fresh" not in read_baseline(path)["systems"]["light"]["drift"]["en-4"]
    done = CliRunner().invoke(gate_command, ["--baseline", str(path), "--json", str(tmp_path / "new.json")])
    assert done.exit_code == 0, done.output
    assert done.output == "gate passed: light, keep_ratio=0.5 on 1 flip cases, nothing is worse than the baseline\n"
    assert "light" in json.loads((tmp_path / "new.json").read_text())["systems"]


def test_the_gate_fails_with_a_readable_list(worse: Result, tmp_path: Path, any_speed: None) -> None:
    """A baseline that promises more than the code gives: status 1 and a line for each reason."""
    worse["systems"]["light"]["cost"]["kept_ratio"]["value"] = 0.2
    worse["systems"]["light"]["answerability"] |= {"value": 1.2, "low": 1.1}
    update_metrics(tmp_path / "metrics.json", worse)
    done = CliRunner().invoke(gate_command, ["--baseline", str(tmp_path / "metrics.json")])
    assert done.exit_code == 1
    assert "FAIL light: answerability fell to 100.00 %; the baseline has 120.00 % [110.00 %, " in done.output
    assert "FAIL light: keeps " in done.output
    assert done.output.endswith("gate failed: 2 reasons\n")


def spoil_survival(result: Result) -> None:
    result["systems"]["light"]["flips"]["survival"]["value"] = 0.5


def spoil_coverage(result: Result) -> None:
    result["systems"]["light"]["coverage"]["protected"]["lost"]["modals"] = {"n": 1, "items": ["ann:0: must"]}


def spoil_names(result: Result) -> None:
    result["systems"]["light"]["coverage"]["gold"]["kind"]["entities"]["value"] = 0.1


def spoil_progressive(result: Result) -> None:
    result["systems"]["light"]["drift"]["en-4"]["worst"]["progressive"]["protected_lost"] = 2


def spoil_cache(result: Result) -> None:
    result["systems"]["light"]["drift"]["en-4"]["worst"]["fresh"]["changed"] = 0.25


def spoil_second_pass(result: Result) -> None:
    result["systems"]["light"]["drift"]["en-4"]["worst"]["again_deleted"] = 0.05


def spoil_speed(result: Result) -> None:
    result["systems"]["light"]["cost"]["cpu_seconds_per_1000_tokens"] *= 10


def spoil_size(result: Result) -> None:
    result["versions"]["model"]["bytes"] = 2_000_000


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (spoil_survival, "light: load-bearing survival fell to 50.00 %"),
        (spoil_coverage, "light: modals: rules protect 1 items fewer; among them ann:0: must"),
        (spoil_names, "light: gold entities fell to 10.00 %"),
        (spoil_progressive, "light: drift en-4, progressive: 2 protected stretches lost"),
        (spoil_cache, "light: drift en-4, fresh: 25.00 % of what was already sent changed"),
        (spoil_second_pass, "light: drift en-4: a second pass deletes 5.00 % more words; allowed: 2.00 %"),
        (spoil_speed, "light: takes 10.0 times as long as the baseline; allowed: 2.5 times"),
        (spoil_size, "the weights take 2,000,000 bytes, 1,000,000 before; allowed: 1.05 times as many"),
    ],
)
def test_each_reason_has_its_line(result: Result, worse: Result, spoil: Callable[[Result], None], message: str) -> None:
    """One thing gets worse, one line says so."""
    before = copy.deepcopy(result)
    for one in (before, worse):
        one["versions"]["model"]["bytes"] = 1_000_000
    spoil(worse)
    lines = list(compare(slim(before), worse))
    assert len(lines) == 1
    assert lines[0].startswith(message)


def test_known_progressive_drift_may_stay_but_not_grow(result: Result, worse: Result) -> None:
    """A weakness that the baseline records fails the gate only once it gets worse."""
    before = copy.deepcopy(result)
    before["systems"]["light"]["drift"]["en-4"]["worst"]["progressive"]["protected_lost"] = 2
    drift = worse["systems"]["light"]["drift"]["en-4"]["worst"]["progressive"]
    drift["protected_lost"] = 2
    assert list(compare(slim(before), worse)) == []
    drift["protected_lost"] = 3
    assert list(compare(slim(before), worse)) == [
        "light: drift en-4, progressive: 3 protected stretches lost, 2 before"
    ]


def test_other_cases_cannot_be_compared(result: Result, worse: Result) -> None:
    """The baseline must be made anew, and the CHANGELOG say so."""
    worse["cases"]["flips"]["fingerprint"] = "other"
    with pytest.raises(BaselineError, match="the flips cases are not those of the baseline"):
        list(compare(result, worse))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{}", "holds no 'evaluation'; write it with: compressor evaluate --update-metrics"),
        ('{"evaluation": {"format": 0}}', "has format 0"),
        ("[]", "list instead of a JSON object"),
        ("{", "cannot be read as metrics"),
    ],
)
def test_a_baseline_that_cannot_be_used_is_status_2(tmp_path: Path, content: str, message: str) -> None:
    """Missing numbers are no failure of the code under test."""
    path = tmp_path / "metrics.json"
    path.write_text(content)
    done = CliRunner().invoke(gate_command, ["--baseline", str(path)])
    assert done.exit_code == 2
    assert message in done.output
