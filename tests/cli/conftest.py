import pytest
from tests.experiment.finished_run import run_document, write_run_folder


@pytest.fixture
def run_folder(tmp_path):
    """The folder of a finished run."""
    return write_run_folder(tmp_path / "run", run_document())
