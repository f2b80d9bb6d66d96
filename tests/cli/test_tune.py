"""hale tune as a user meets it."""

from __future__ import annotations

from pathlib import Path

from tests.cli.invoke import as_json, assert_refused, hale


def test_tune_writes_a_recipe_and_refuses_nonsense(folder: Path) -> None:
    found = as_json(
        hale(
            "tune", folder, "--dim", 4, "--budget", "1s", "--trial", "0.3s", "--out", "t", "--json"
        )
    )
    assert 0 < found["mrr"] <= 1
    assert "[hale.rotl]" in Path(found["recipe"]).read_text()
    result = hale("tune", folder, "--budget", "soon")
    assert result.exit_code == 2
    assert "a time looks like" in result.stderr


def test_what_is_given_is_held_and_told(folder: Path) -> None:
    options = ["--dim", 4, "--budget", "1s", "--trial", "0.3s", "--out", "t"]
    held = ["--keep-known", "--beta", 2.5, "--seed", 3, "--block", "all"]
    shown = hale("tune", folder, *options, *held)
    assert shown.exit_code == 0, shown.stderr
    command = shown.stdout.splitlines()[-1]
    assert command == f"hale train {folder} --recipe t/recipe.toml --seed 3"
    assert (
        "--beta 2.5 --keep-known --block all --seed 3 --trial 0.3s"
        in Path("t/recipe.toml").read_text()
    )
    trained = hale(*command.split()[1:], "--epochs", 1, "--out", "again", "--json")
    settings = as_json(trained)["settings"]
    assert (settings["beta"], settings["dim"], settings["seed"]) == (2.5, 4, 3)
    assert settings["leave_out_known"] is False
    assert settings["recipe"] == "t/recipe.toml"
    assert hale("train", "--resume", "--out", "again", "--epochs", 2).exit_code == 0


def test_an_activation_that_was_found_is_a_recipe_and_a_picture(folder: Path) -> None:
    options = ["--dim", 4, "--budget", "0.5s", "--trial", "0.2s", "--block", "all", "--out", "t"]
    searched = ["--search", "activation", "--activation", "spline"]
    shown = hale("tune", folder, *options, *searched)
    assert shown.exit_code == 0, shown.stderr
    recipe = Path("t/recipe.toml").read_text()
    assert "--search activation" in recipe
    assert 'activation = "spline"' in recipe
    assert "<svg" in Path("t/activation.svg").read_text() or "not drawn" in shown.stderr
    again = hale(
        "train", folder, "--recipe", "t/recipe.toml", "--epochs", 1, "--out", "again", "--json"
    )
    settings = as_json(again)["settings"]
    assert (settings["activation"], len(settings["shape"])) == ("spline", 9)
    refused = hale("tune", folder, "--search", "everything")
    assert refused.exit_code == 2
    assert "Choose from: settings, activation" in refused.stderr


def test_a_search_of_what_is_given_otherwise_leaves_nothing(folder: Path) -> None:
    asked = ["tune", folder, "--alpha", 0.1, "--trials", 1, "--trial", "1s", "--out", "search"]
    refused = hale(*asked, "--dim", 4)
    assert refused.exit_code == 2
    assert "A search moves queries" in refused.stderr
    assert not Path("search").exists()


def test_a_search_that_no_model_fits_leaves_nothing(folder: Path) -> None:
    refused = hale("tune", folder, "--dim", 3, "--trials", 1, "--trial", "1s", "--out", "search")
    assert refused.exit_code == 2
    assert "needs an even dim, got 3" in refused.stderr
    assert not Path("search").exists()


def test_a_folder_with_a_foreign_journal_is_refused(folder: Path) -> None:
    Path("t").mkdir()
    Path("t/trials.journal").write_text("notes of my own\n")
    assert_refused(
        ["tune", str(folder), "--dim", "4", "--trials", "1", "--trial", "1s", "--out", "t"],
        "t/trials.journal is not the journal of a search",
    )
    assert Path("t/trials.journal").read_text() == "notes of my own\n"
