"""What the command line says: at once, on one line, with cause and remedy, and everything that is wrong."""

from __future__ import annotations

import io
import re
import sys
import threading

import numpy as np
import pandas as pd
import pytest
from test_cli import DROPPED, HOUSES, onefit_cli

from onefit.cli import answering, telling
from onefit.cli.group import HABITS
from onefit.cli.recipes import Recipe, with_short_names
from onefit.cli.showing import numbers
from onefit.cli.telling import CommandBar
from onefit.running.progress import Progress, Units

RUN = ["run", HOUSES, "--target", "price", *DROPPED]


@pytest.fixture
def table(tmp_path):
    """Writes columns to a file, and names it."""

    def write(**columns):
        pd.DataFrame(columns).to_csv(tmp_path / "table.csv", index=False)
        return tmp_path / "table.csv"

    return write


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--loss", "log_los"], "--loss: 'log_los' is unknown; choose squared_error"),
        (
            ["--loss", "mae"],
            "--loss: 'mae' is not the name of a loss: give --loss absolute_error or --scoring neg_mean",
        ),
        (
            ["--interval", "papr"],
            "--interval: 'papr' is none of covariance, bates, paper, mlr3, naive, corrected_t; did you",
        ),
        (["--model", "rigde"], "--model: 'rigde' is none of ridge, ols, spline"),  # before anything is read
        (["--folds", "2"], "--folds: '2' must be a whole number, at least 3"),
        (["--seed", "-1"], "--seed must be at least 0; see"),
        (["--seed", "abc"], "--seed needs a whole number; see"),
        (["--level", "high"], "--level needs a number; see"),
        (["--seed"], "--seed lacks its value; put it behind, as in --seed N; see"),
        (["--impute", "true"], "true: that is more than one table; a column goes behind its option, and options such"),
        (["--nofolds"], "no such option: --nofolds"),
        (["--n-splits", "5"], "no such option: --n-splits; here that is --folds; see"),
        (["--random-state", "1"], "no such option: --random-state; here that is --seed; see"),
        (["--param-grid", "x"], "no such option: --param-grid; here that is onefit curve with --param and --values"),
        (["--lambda", "1", "--tuned", "gcv"], "--lambda fixes the penalty and --tuned chooses it"),
    ],
)
def test_what_is_not_understood_is_one_line_with_the_option_and_the_way_to_help(options, said):
    outcome = onefit_cli(*RUN, *options)
    (line,) = outcome.stderr.splitlines()
    assert outcome.exit_code == 2
    assert line.startswith(f"onefit: {said}")
    assert line.lower().endswith("see onefit run --help.")
    assert outcome.stdout == ""


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--report"], "--report lacks its value; put it behind, as in --report report.html"),
        (["--report", "--quiet"], "--report lacks its value; put it behind, as in --report report.html"),
        (["--folds", "--repeats", "2"], "--folds lacks its value; put it behind, as in --folds 10"),
        (["--coords", "longitude"], "--coords lacks its value; put it behind, as in --coords LON LAT"),
        (["--groups"], "--groups lacks its value; put it behind, as in --groups COLUMN"),
    ],
)
def test_an_option_without_its_value_is_told_with_an_example(options, said):
    outcome = onefit_cli(*RUN, *options)
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert outcome.stderr == f"onefit: {said}; see onefit run --help.\n"


def test_a_command_that_does_not_exist_is_one_line_and_none_is_the_help():
    unknown = onefit_cli("rnu")
    assert unknown.exit_code == 2
    assert unknown.stderr == "onefit: no such command 'rnu'. Did you mean 'run'? See onefit --help.\n"
    assert "Commands" in onefit_cli().output


def test_flags_do_not_look_as_if_they_wanted_a_value():
    assert "bool" not in onefit_cli("run", "--help").stdout.lower()


def test_the_help_says_where_rules_are_explained():
    words = " ".join(onefit_cli("run", "--help").stdout.replace("│", " ").split())
    assert "the table of results says what each is" in words


def test_all_problems_of_a_table_are_said_at_once(table):
    n = 40
    path = table(
        y=[*np.arange(n - 1.0), np.nan],
        amount=[f"{i},5" for i in range(n)],
        when=["2020-01-01", "2020-01-02"] * (n // 2),
        gap=[np.nan, *np.arange(n - 1.0)],
        weight=["heavy", "light"] * (n // 2),
    )
    outcome = onefit_cli("run", path, "--target", "y", "--weights", "weight")
    assert outcome.exit_code == 1
    (line,) = outcome.stderr.splitlines()
    assert line.startswith("onefit: The table has 5 problems: (1) The target 'y' is missing in 1 of 40 rows")
    for part in (
        "'amount' holds numbers with decimal commas",
        "'when' holds dates",
        "'gap' 1; give --impute",
        "--weights",
    ):
        assert part in line


def test_columns_in_the_same_notation_are_one_problem(table):
    rng = np.random.default_rng(0)
    path = table(**{name: [f"{x:.1f}".replace(".", ",") for x in rng.normal(0, 9, 40)] for name in ("y", *"abcd")})
    outcome = onefit_cli("run", path, "--target", "y")
    assert outcome.exit_code == 1
    (line,) = [line for line in outcome.stderr.splitlines() if "notation" in line or "hold" in line]
    assert "Columns 'y', 'a', 'b' and 2 more hold numbers with decimal commas, such as" in line
    assert line.endswith("; give --decimal ,.")
    assert line.count("--decimal") == 1
    assert onefit_cli("run", path, "--target", "y", "--decimal", ",").exit_code == 0


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--order", "day"], ["--order: column 'day' is missing in 2 row(s)"]),
        (["--coords", "lon", "lat"], ["--coords: column 'lat' must hold a number in every row"]),
        (["--order", "days"], ["--order: there is no column 'days'; did", "'day' is missing in 2 row(s)"]),
        (["--groups", "teams"], ["--groups: there is no column 'teams'", "column 'team' is missing in 1 row(s)"]),
        (["--coords", "lat", "weight"], ["--coords: columns 'lat' and 'weight' must hold a number in every row"]),
        (["--groups", "pair"], ["--groups pair: There are only 2 group(s)"]),
        (["--groups", "most"], ["--groups most: Group a holds 38 of the 40 rows"]),
        (["--weights", "owed"], ["--weights must be finite and not negative in every row; correct column 'owed'"]),
        (["--weights", "weigt"], ["--weights: there is no column 'weigt'", "'weight' must hold a number in every row"]),
    ],
    ids=lambda given: " ".join(given[:2]),
)
def test_what_is_wrong_with_the_columns_of_order_places_and_groups_hides_nothing_else(options, told, table):
    n = 40
    path = table(
        y=np.arange(float(n)),
        day=[None, None, *pd.date_range("2024-01-01", periods=n - 2).astype(str)],
        lon=np.arange(float(n)),
        lat=[*np.arange(n - 1.0), np.inf],
        team=[None, *(["red", "green", "blue"] * 13)],
        weight=["heavy", "light"] * (n // 2),
        pair=["old", "new"] * (n // 2),
        most=["a"] * (n - 2) + ["b", "c"],
        owed=np.arange(n) - 3.5,
        name=[f"n{i}" for i in range(n)],
        gap=[np.nan, *np.arange(n - 1.0)],
    )
    outcome = onefit_cli("run", path, "--target", "y", *options)
    (line,) = outcome.stderr.splitlines()
    assert outcome.exit_code == 1
    for part in (*told, "'name' is free text", "'gap' 1"):
        assert part in line


def test_columns_that_are_misspelt_and_nothing_like_any_other_are_all_that_is_told():
    outcome = onefit_cli("run", HOUSES, "--target", "price", "--groups", "qqq")  # street, which is text, may be meant
    assert outcome.stderr.startswith("onefit: --groups: there is no column 'qqq'; the columns are 'area'")


def test_all_columns_that_are_not_there_are_named():
    outcome = onefit_cli("run", HOUSES, "--target", "prize", "--drop", "street", "--groups", "towns")
    assert "(1) --target: there is no column 'prize'" in outcome.stderr
    assert "(2) --groups: there is no column 'towns'" in outcome.stderr


def test_scores_of_classes_for_a_target_of_numbers_name_the_options_that_help(table):
    rng = np.random.default_rng(0)
    path = table(x=rng.standard_normal(30), y=rng.integers(0, 2, 30))
    for options in (["--scoring", "roc_auc"], ["--loss", "log_loss"]):
        outcome = onefit_cli("run", path, "--target", "y", *options)
        assert outcome.exit_code == 1
        assert "give --classes --model logistic" in outcome.stderr


def test_rare_classes_are_all_named_before_anything_is_fitted(table):
    rng = np.random.default_rng(0)
    path = table(x=rng.standard_normal(60), y=["a", "b"] * 28 + ["rare", "rare", "odd", "few"])
    for score, said in (("neg_log_loss", "would be infinite"), ("roc_auc_ovr", "is undefined where a fold has no row")):
        outcome = onefit_cli("run", path, "--target", "y", "--model", "logistic", "--scoring", score)
        assert outcome.exit_code == 1
        assert said in outcome.stderr
        assert "few (1 row), odd (1 row), rare (2 rows)" in outcome.stderr
        assert "plan:" not in outcome.stderr


def test_notes_and_the_plan_come_before_the_answer_and_not_if_silence_is_wanted():
    outcome = onefit_cli(*RUN, "--folds", "5", "--repeats", "2")
    lines = outcome.stderr.splitlines()
    assert lines[0].startswith("note: Categorical")
    assert lines[-1] == "plan: 5 folds, 2 repeats, by gram: less than a second"
    assert onefit_cli(*RUN, "--folds", "5", "--repeats", "2", "--quiet").stderr == ""


def test_the_plan_of_refits_counts_them():
    lines = onefit_cli(*RUN, "--route", "refit", "--folds", "3", "--repeats", "1").stderr.splitlines()
    assert lines[-1] == "plan: 3 folds, 1 repeat, by refit: 6 fits, whose time the first ones will tell (asked for)"


def test_repeats_that_are_not_drawn_and_rules_without_an_interval_are_explained():
    outcome = onefit_cli("run", HOUSES, "--target", "price", "--features", "area", "--model", "ols", "--repeats", "7")
    assert "note: --repeats 7 is not used: two rows or groups are left out at a time" in outcome.stderr
    assert "- for bates, paper, mlr3: The rule needs the variance within each fold" in outcome.stdout
    assert "Cao and Stringer (2026), as written" in outcome.stdout


@pytest.mark.parametrize(("model", "word", "other"), [("lasso", "alpha", "lam"), ("ridge", "lam", "alpha")])
def test_a_penalty_has_the_name_that_the_model_gives_it_on_the_command_line_and_in_the_report(
    model, word, other, tmp_path
):
    numbers = ["--features", "area", "--features", "age", "--model", model, "--lambda", "1:10:2"]
    page = tmp_path / "r.html"
    asked = ["--folds", "3", "--repeats", "1", "--report", page]
    outcome = onefit_cli("curve", HOUSES, "--target", "price", *numbers, *asked)
    assert re.search(rf"^At {word} = ", outcome.stdout)
    assert re.search(rf"(?m)^{word} +estimate", outcome.stdout)
    report = re.sub(r"(?s)<(style|script)\b.*?</\1>", "", page.read_text(encoding="utf-8"))
    assert f"At {word} = " in report
    assert not re.search(rf"\b({other}|lambda)\b", outcome.stdout + report.replace("--lambda", ""))


# ---------------------------------------------------------------------------------------------- people who wait


def test_where_nobody_sees_a_bar_a_line_says_now_and_then_that_the_work_goes_on(monkeypatch):
    stream, told = io.StringIO(), threading.Event()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(telling, "BEAT_OF_FILE", 0.01)
    show = CommandBar._show_life
    monkeypatch.setattr(CommandBar, "_show_life", lambda bar: (show(bar), told.set()))
    bar = CommandBar()
    with bar.at_work():
        assert told.wait(30)  # before anything is counted
        progress = Progress(bar)
        progress.plan("3 folds")
        with progress.running(Units(4, "fits")):
            progress.advance(1)
            told.clear()
            assert told.wait(30)
    lines = stream.getvalue().splitlines()
    assert lines[0].startswith("onefit: at work for")
    assert "plan: 3 folds" in lines
    assert any("25%  1/4 fits" in line for line in lines)


def test_a_job_that_was_stopped_does_not_say_that_it_is_done():
    reports = []
    progress = Progress(lambda done, total: reports.append((done, total)))
    with progress.running(Units(9, "fits")):
        progress.advance(4)
        progress.was_interrupted = True
    assert reports == [(0, 9), (4, 9)]


def test_a_model_that_is_misspelt_or_of_another_library_is_told_how_to_name_it():
    misspelt, other = (onefit_cli(*RUN, "--model", name).stderr for name in ("rigde", "forest"))
    assert "RandomForestRegressor; did you mean 'ridge'? See onefit run --help." in misspelt
    assert "nor of Python, such as sklearn.ensemble:RandomForestRegressor; see onefit run --help." in other


def test_dates_are_told_to_be_an_order(table):
    days = pd.date_range("2024-01-01", periods=40)
    outcome = onefit_cli("run", table(day=days, x=np.arange(40) % 7, y=np.arange(40.0)), "--target", "y")
    assert "--drop 'day'; or, if rows follow one another in time, --order 'day'." in outcome.stderr


def test_findings_name_options_rather_than_python(table):
    rng = np.random.default_rng(0)
    walk = np.cumsum(rng.normal(size=200))
    outcome = onefit_cli("run", table(x=rng.normal(size=200), y=walk), "--target", "y", "--repeats", "2")
    assert "If they follow one another in time, use --order COLUMN" in outcome.stdout
    assert "onefit." not in outcome.stdout


def test_results_are_written_as_typed_where_a_terminal_has_no_minus_sign(table):
    rng = np.random.default_rng(1)
    x, noise = rng.normal(size=(2, 60))
    outcome = onefit_cli("run", table(x=x, y=1e5 * noise), "--target", "y", "--repeats", "2")
    assert outcome.stdout.isascii()
    assert "; R2 -0.0" in outcome.stdout
    (baseline,) = (line for line in outcome.stdout.splitlines() if line.startswith("The best constant has"))
    assert "e+09;" in baseline


def test_the_report_says_in_words_what_chose_the_penalty_and_is_not_overwritten_by_accident(tmp_path):
    report = tmp_path / "report.html"
    assert onefit_cli(*RUN, "--report", report).exit_code == 0
    assert "The penalty is chosen by leave-one-out, anew in every training set" in report.read_text(encoding="utf-8")
    again = onefit_cli(*RUN, "--report", report)
    assert again.stderr.endswith("exists and is not overwritten; give another name, or --force to overwrite it.\n")


def test_a_difference_that_rounds_to_nothing_has_no_sign():
    assert numbers(-0.2, -10.4, 9.8) == ["0", "-10", "10"]
    assert numbers(-0.2, -104.0, 98.0) == ["0", "-104", "98"]


def test_every_option_that_a_habit_is_told_exists():
    known = onefit_cli("curve", "--help").stdout
    for meant in HABITS:
        assert all(option in known for option in re.findall(r"--[a-z]+", meant))


def test_reading_a_table_that_takes_long_is_not_silent(monkeypatch):
    read, told, show = answering.read_table, threading.Event(), CommandBar._show_life
    monkeypatch.setattr(telling, "BEAT_OF_FILE", 0.01)
    monkeypatch.setattr(CommandBar, "_show_life", lambda bar: (show(bar), told.set()))
    monkeypatch.setattr(answering, "read_table", lambda source: (told.wait(30), read(source))[1])
    outcome = onefit_cli(*RUN, "--folds", "5", "--repeats", "2")
    assert outcome.exit_code == 0
    assert outcome.stderr.startswith("onefit: at work for")
    told.set()
    assert onefit_cli(*RUN, "--folds", "5", "--repeats", "2", "--quiet").stderr == ""


def test_an_estimate_far_below_its_upper_end_is_not_said_to_be_zero():
    assert numbers(0.02, 0.0, 400.0) == ["0.02", "0", "400"]
    assert numbers(1e-17, 0.0, 0.04) == ["0.000", "0.000", "0.040"]
    assert numbers(-0.004, -0.2, 0.19) == ["0.00", "-0.20", "0.19"]


def test_weights_are_spoken_of_by_their_option(table):
    rng = np.random.default_rng(0)
    path = table(x=rng.standard_normal(30), y=rng.standard_normal(30), w=[-1.0, *np.ones(29)])
    outcome = onefit_cli("run", path, "--target", "y", "--weights", "w")
    assert outcome.exit_code == 1
    assert "--weights must be finite and not negative" in outcome.stderr
    assert "sample_weight" not in outcome.stderr


def test_a_report_by_the_name_of_another_kind_is_refused_before_anything_is_computed(tmp_path):
    outcome = onefit_cli(*RUN, "--report", tmp_path / "answer.pdf")
    assert outcome.exit_code == 1
    assert "'answer.pdf' says otherwise; name it 'answer.html' (a browser prints it as PDF)." in outcome.stderr
    assert "plan:" not in outcome.stderr
    assert not list(tmp_path.iterdir())


def test_an_estimate_without_an_interval_has_the_digits_of_the_others():
    outcome = onefit_cli(*RUN, "--folds", "10", "--repeats", "2")
    rows = [line.split() for line in outcome.stdout.splitlines()]
    (paper,) = [row for row in rows if row[:1] == ["paper"]]
    (bates,) = [row for row in rows if row[:1] == ["bates"]]
    assert paper[2:5] == ["-", "-", "-"]
    assert "." not in paper[1] + bates[1]


def test_classes_of_other_packages_are_compared_without_their_modules():
    path, other = "sklearn.tree:DecisionTreeRegressor", "sklearn.neighbors:KNeighborsRegressor"
    short = ["--folds", "3", "--repeats", "1"]
    outcome = onefit_cli("compare", *RUN[1:], "--model", path, "--model", other, *short)
    assert outcome.exit_code == 0
    assert "sklearn" not in outcome.stdout
    assert {"DecisionTreeRegressor", "KNeighborsRegressor"} < set(outcome.stdout.split())
    assert re.search(r"(?m)^(DecisionTree|KNeighbors)Regressor: rule covariance, 3 folds", outcome.stdout)
    recipes = [
        Recipe(name, None, "", (), None, ()) for name in ("one:Model", "two:Model", "one:make", "one:Other", "ridge")
    ]
    assert [each.name for each in with_short_names(recipes)] == ["one:Model", "two:Model", "one:make", "Other", "ridge"]
