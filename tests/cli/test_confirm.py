"""``clearwatt confirm``: a person says that the readings of a suspected meter are real."""

import json

from tests.service.application import Web, listening
from tests.service.learner.apply.test_suspicion import played, world_of

from clearwatt.cli import main


def test_a_suspected_meter_is_confirmed(tmp_path, capsys):
    service = played(tmp_path, world_of("clear"))
    web = Web(tmp_path, store=service.store, files=service.files)
    with listening(web) as url:
        words = ["confirm", "e0", "--reason", "a second transformer", "--url", url, "--no-wait"]
        assert main([*words, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["event"] is None
        service.catch_up()
        assert web.get("/v1/entities/e0")["suspicion"] is None
        assert main(words) == 2
    assert "e0 is not suspected" in capsys.readouterr().err
    web.close()
