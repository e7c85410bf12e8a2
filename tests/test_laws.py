"""The laws of the toolkit, and the tests that hold each of them.

| law | held by |
|---|---|
| 1. Nothing secret gets out of cassettes, notebooks, logs, tracebacks, pickles. | leak bench, exposure, logs, browser |
| 2. Replay needs nothing: no credentials, addresses, network or practice service. | session, demo, kernels |
| 3. Replay tells the same story: answers, tables and instants are those of the recording. | session, notebooks |
| 4. One token: one token request a lifetime, however many callers. | single flight, processes, sessions |
| 5. Refused before sent: what the document forbids raises AccessError, and nothing is sent. | scope, sending |
| 6. A recording survives: a kill loses no completed interaction. | recording |
| 7. Plain vcrpy format: stock vcrpy replays ours, and every vcrpy cassette replays here. | peers, vcrpy checklist |
| 8. Byte-identical notebooks: a tutorial executed twice gives the same bytes. | notebooks, kernels |
| 9. Nothing foreign runs or stalls: text is escaped, YAML is safe, decompression is capped. | escaping, hostile files |
| 10. Every key once: an interrupted sweep goes on, and holds each answer once. | sweeps |

`HELD_BY` names the tests one by one. This module checks that they exist, and that the page about the promises in
`notebooks/explanation` names their files.
"""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PAGE = TESTS.parent / "notebooks" / "explanation" / "promises.md"

HELD_BY: dict[int, dict[str, str]] = {
    1: {
        "scrubbing/test_leak_bench.py": "test_in_bodies test_in_compressed_bodies test_in_headers test_in_urls "
        "test_by_place_in_requests test_by_place_in_responses test_at_random",
        "scrubbing/test_gate.py": "test_each_code test_codes_within_codes test_other_data",
        "scrubbing/test_logs.py": "test_http test_hpack test_any_secret",
        "session/test_exposure.py": "test_sessions test_any_credentials test_a_service_that_echoes "
        "test_a_token_endpoint_that_echoes test_every_public_name",
        "core/test_tracebacks.py": "test_no_frame_shows_a_secret test_frameless_error_shows_no_secret",
        "cassettes/recording/test_recorder.py": "test_leak_is_refused",
        "browser/test_secrets_on_disk.py": "test_nothing_that_is_typed_into_a_panel_reaches_the_disk",
    },
    2: {
        "session/test_session.py": "test_live_recorded_replayed test_offline_with_cassette",
        "processes/test_commands.py": "test_demo_needs_no_network",
        "sharing/pytest_plugin/test_playing.py": "test_network",
        "kernels/test_kernel_verification.py": "test_kernel_has_no_secrets_and_no_network test_recording_replays",
    },
    3: {
        "session/test_session.py": "test_live_recorded_replayed test_links_in_replayed_bodies test_replayed_outage",
        "scrubbing/test_leak_bench.py": "test_ordinary_replies",
        "compatibility/test_files_of_earlier_versions.py": "test_cassette_replays",
    },
    4: {
        "auth/tokens/test_single_flight.py": "test_one_fetch test_any_order test_hundred_callers test_failed_leader "
        "test_abandoned_leader",
        "auth/tokens/test_processes.py": "test_real_processes",
        "session/test_session.py": "test_one_token_on_real_sockets",
        "cluster/test_loan.py": "test_one_token_request_for_each_renewal_and_none_from_a_worker",
    },
    5: {
        "session/test_scope.py": "test_other_origins test_userinfo test_own_credentials",
        "session/test_sending.py": "test_nothing_is_sent test_redirect_elsewhere",
        "cassettes/replay/test_recorded_values.py": "test_refused_before_it_is_sent test_bearer_token_of_the_recording "
        "test_cookie_of_the_recording",
        "cassettes/test_through.py": "test_replayed_redirect_to_another_origin",
        "session/test_whose_configuration.py": "test_a_cloned_project",
    },
    6: {
        "cassettes/recording/test_recorder.py": "test_torn_anywhere test_disk_full test_appending_rewrites_nothing",
        "cassettes/recording/test_finishing.py": "test_cells",
        "processes/test_killed_recordings.py": "test_killed test_interpreter_exits",
        "processes/test_recording_processes.py": "test_two_processes",
    },
    7: {
        "cassettes/test_peers.py": "test_stock_vcrpy_replays_anything_of_ours "
        "test_ours_replays_stock_vcrpy test_stock_vcrpy_adds_to_ours",
        "peers/test_pytest_recording.py": "test_pytest_recording_replays_ours",
        "peers/test_vcrpy_checklist.py": "test_mode_once test_mode_new_episodes test_mode_all test_mode_none",
    },
    8: {
        "notebooks/test_notebooks.py": "test_stored_outputs",
        "kernels/test_kernel_verification.py": "test_stored_form_is_repeatable test_images_are_repeatable",
        "verification/test_comparing.py": "test_any_changed_byte_is_found_in_its_cell",
    },
    9: {
        "core/test_escaping.py": "test_printable_drops_all_controls test_html_is_inert",
        "cassettes/format/test_hostile_files.py": "test_any_bytes test_hostile_files_are_read_soon "
        "test_decompression_bomb test_tags_run_nothing",
        "scrubbing/test_patterns.py": "test_a_search_that_takes_too_long_is_refused",
    },
    10: {
        "sweeps/test_interruptions.py": "test_every_key_is_there_once_wherever_a_sweep_was_interrupted",
        "sweeps/test_sweeping.py": "test_a_sweep_asks_once_for_each_key_and_its_table_has_all_rows",
        "sweeps/test_on_dask.py": "test_keys_that_two_workers_finished_are_in_the_table_once",
    },
}


@pytest.mark.parametrize("law", HELD_BY)
def test_the_tests_of_a_law_exist(law: int) -> None:
    """Each test named for a law is defined in the file it is named in."""
    missing = [
        f"{file}::{name}"
        for file, names in HELD_BY[law].items()
        for name in names.split()
        if name not in defined_tests(TESTS / file)
    ]
    assert not missing


@pytest.mark.parametrize("law", HELD_BY)
def test_the_page_names_the_tests(law: int) -> None:
    """The section of a law on the page about the promises names the files of its tests, and no others."""
    _, section = PAGE.read_text(encoding="utf-8").split(f"\n## {law}. ")
    files = re.findall(r"`tests/(\S+\.py)`", section.split("\n## ")[0])
    assert files == list(HELD_BY[law])


@functools.cache
def defined_tests(file: Path) -> set[str]:
    """Return the names of the test functions in a file."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
