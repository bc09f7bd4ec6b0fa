import pytest
from typer.testing import CliRunner

from overnight.cli.main import app
from overnight.errors import OvernightError

RUN = "20260302-020000-aaaaaaaa"


@pytest.fixture
def overnight(root):
    """Run `overnight …` on the root; errors a user can cause come out as they are raised."""

    def call(*arguments):
        result = CliRunner().invoke(app, arguments, env={"OVERNIGHT_CONFIG": str(root.config)})
        if isinstance(result.exception, OvernightError):
            raise result.exception
        assert result.exit_code == 0, result.output
        return result

    return call


def test_report_prints_where_the_page_is(root, overnight):
    run = root.run(RUN, root.snapshot())
    assert overnight("report", RUN).stdout == f"{run / 'report.html'}\n"
    assert (run / "report.html").read_text().startswith("<!doctype html>")


def test_a_damaged_file_is_one_sentence_and_the_old_report_stays(root, overnight):
    run = root.run(RUN, root.snapshot())
    overnight("report", RUN)
    before = (run / "report.html").read_bytes()
    (run / "metrics.json").write_text('{"format": "overnight.metrics/1", ')
    with pytest.raises(OvernightError, match=r"metrics\.json: this is not JSON"):
        overnight("report", RUN)
    assert (run / "report.html").read_bytes() == before


def test_an_unknown_run_is_one_sentence(root, overnight):
    root.run(RUN, root.snapshot())
    with pytest.raises(OvernightError, match="there is no run"):
        overnight("report", "20260302-020000-ffffffff")
