import json
import os

import pytest

from clearwatt.errors import DataError
from clearwatt.feeds.dead_letters import DeadLetter, DeadLetterFile
from clearwatt.feeds.spool import Message


def letter(number: int, payload: bytes = b"x") -> DeadLetter:
    return DeadLetter(f"{number}.0", 0.0, "unknown", Message("site/park", payload, 0.0))


def ids(folder) -> list[str]:
    return [each.id for each in DeadLetterFile(folder).read()]


def test_letters_of_a_killed_process_are_not_written_twice(tmp_path):
    assert DeadLetterFile(tmp_path).append([letter(1), letter(2)]) == 2
    restarted = DeadLetterFile(tmp_path)
    assert restarted.append([letter(2), letter(3)]) == 1
    assert ids(tmp_path) == ["1.0", "2.0", "3.0"]


def test_half_a_line_is_removed_and_a_line_without_break_is_kept(tmp_path):
    file = DeadLetterFile(tmp_path)
    file.append([letter(1), letter(2)])
    file.path.write_text(file.path.read_text()[:-20])
    file.append([letter(3)])
    assert ids(tmp_path) == ["1.0", "3.0"]
    file.path.write_text(file.path.read_text().rstrip("\n"))
    file.append([letter(4)])
    assert ids(tmp_path) == ["1.0", "3.0", "4.0"]


def test_a_last_line_that_a_hand_edit_broke_is_kept_beside(tmp_path):
    file = DeadLetterFile(tmp_path)
    file.path.write_text('{"id": "1.0", "payload" "x"}')
    file.append([letter(2)])
    assert ids(tmp_path) == ["2.0"]
    damaged = (tmp_path / "dead-letters.damaged").read_text()
    assert damaged == '{"id": "1.0", "payload" "x"}\n'


def test_the_ids_of_a_new_spool_do_not_hide_its_letters(tmp_path):
    DeadLetterFile(tmp_path).append([letter(1, b"of the old spool")])
    assert DeadLetterFile(tmp_path).append([letter(1, b"of the new spool")]) == 1
    assert len(ids(tmp_path)) == 2


def test_letters_are_taken_only_if_the_block_succeeds(tmp_path):
    file = DeadLetterFile(tmp_path)
    file.append([letter(1), letter(2)])
    with pytest.raises(OSError, match="full"), file.take(["1.0"]):
        raise OSError("full")
    assert ids(tmp_path) == ["1.0", "2.0"]
    with file.take(["1.0"]) as taken:
        assert [each.id for each in taken] == ["1.0"]
    assert ids(tmp_path) == ["2.0"]
    with pytest.raises(DataError, match=r"no letter '1\.0'"), file.take(["1.0"]):
        pass


def test_line_breaks_of_unicode_in_a_payload_leave_the_file_readable(tmp_path):
    payload = "a\u2028b\u0085c".encode()
    DeadLetterFile(tmp_path).append([letter(1, payload), letter(2)])
    with DeadLetterFile(tmp_path).take(["2.0"]):
        pass
    (found,) = DeadLetterFile(tmp_path).read()
    assert found.message.payload == payload


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_root_leaves_the_files_to_the_user_of_the_feed(tmp_path):
    file = DeadLetterFile(tmp_path)
    file.append([letter(1), letter(2)])
    os.chown(tmp_path, 65534, 65534)
    with file.take(["1.0"]):
        pass
    assert {each.stat().st_uid for each in tmp_path.iterdir()} == {65534}


def test_a_payload_can_be_corrected_in_the_file(tmp_path):
    file = DeadLetterFile(tmp_path)
    file.append([letter(1, b'{"value": "12,5"}')])
    values = json.loads(file.path.read_text())
    file.path.write_text(json.dumps({**values, "payload": '{"value": 12.5}'}))
    (found,) = file.read()
    assert found.message.payload == b'{"value": 12.5}'
    file.path.write_text("{}\n")
    with pytest.raises(DataError, match="line 1 is no dead letter"):
        file.read()
