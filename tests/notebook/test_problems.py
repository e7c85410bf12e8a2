"""Problems are shown beside the control that they are about."""

from __future__ import annotations

import pytest

from toolkit.core.document import CredentialKind
from toolkit.core.errors import (
    CassetteBusy,
    CassetteMiss,
    ConfigurationError,
    CredentialsMismatch,
    ServiceError,
    TabulationError,
    TokenRefused,
    TokenResponseInvalid,
    Unreachable,
    UnsafeAddress,
)
from toolkit.local.settings import Settings
from toolkit.notebook.panel.choices import Mode
from toolkit.notebook.panel.fields import FIELDS, PASSPHRASE
from toolkit.notebook.panel.problems import (
    ENCRYPTED_KEY,
    PanelProblem,
    nearly_called,
    problem_of,
    problem_of_text,
    without_paths,
    wrong_name,
)

TYPED = FIELDS[CredentialKind.CLIENT_SECRET]


@pytest.mark.parametrize(
    ("error", "place"),
    [
        (TokenRefused("refused", status=401), "client_secret"),
        (TokenRefused("out of order", status=503), "connect"),
        (TokenResponseInvalid("a login page"), "environment"),
        (ServiceError("refused", status=403), "client_secret"),
        (ServiceError("out of order", status=500), "connect"),
        (Unreachable("no connection"), "environment"),
        (UnsafeAddress("http beyond this machine"), "environment"),
        (CredentialsMismatch("another environment"), "credentials"),
        (CassetteBusy("another process"), "cassette"),
        (ConfigurationError("The address is not set.", about="auth"), "environment"),
        (ConfigurationError("The profile of that name does not exist for paper."), "credentials"),
        (TabulationError("no JSON"), "connect"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else value,
)
def test_an_error_of_connecting_has_a_place(error, place):
    """Each error of connecting is shown where the user can fix it."""
    problem = problem_of(error, mode=Mode.RECORD, fields=TYPED)
    assert (problem.place, problem.what) == (place, error.what)


def test_refused_credentials_are_named_by_their_fields():
    """Refused credentials are named by their fields, without a word about the trial call's table."""
    pair = FIELDS[CredentialKind.KEY_PAIR]
    error = ServiceError("The service answered with status 401, so there is no table.", "Check them.", status=401)
    refused = problem_of(error, mode=Mode.LIVE, fields=pair)
    assert refused.what == "The service did not accept these credentials (status 401)."
    assert refused.next_step == "Check key ID and secret key, and that they belong to this environment."
    saved = problem_of(error, mode=Mode.LIVE)
    assert saved.next_step == "Check them, and that they belong to this environment."


@pytest.mark.parametrize("name", ["../up", "a/b", "a\\b", "v1.2", "a.json", ".hidden", "a:b", "x" * 300, ""])
def test_the_name_of_a_new_cassette_cannot_be_a_path(name, settings):
    """The name of a new cassette cannot be a path, which would leave the cassettes folder."""
    problem = wrong_name(name, settings)
    assert problem.place == "cassette"
    assert "name" in problem.next_step or "one" in problem.next_step


def test_a_refused_profile_is_reported_beside_the_choice():
    """A refused profile, which has no fields, is reported beside the dropdown."""
    assert problem_of(TokenRefused("refused", status=401), mode=Mode.LIVE).place == "credentials"


def test_problems_of_a_replay_stand_beside_environment_or_cassette():
    """Problems of a replay belong to the environment or the cassette, and live calls offline to the mode."""
    assert problem_of(ConfigurationError("does not tell the environment"), mode=Mode.REPLAY).place == "environment"
    assert problem_of(CassetteMiss("no such cassette"), mode=Mode.REPLAY).place == "cassette"
    assert problem_of(CassetteMiss("TOOLKIT_OFFLINE"), mode=Mode.LIVE).place == "mode"


def test_a_malformed_text_is_reported_beside_the_field_that_the_error_is_about():
    """A malformed text is reported at the field that the error is about, or else at the secret."""
    assert problem_of_text(ConfigurationError("It is empty.", about="client_id"), TYPED).place == "client_id"
    assert problem_of_text(ConfigurationError("Something is wrong."), TYPED).place == "client_secret"


def test_words_about_a_passphrase_stand_beside_it():
    """An encrypted key asks for its passphrase, and a wrong passphrase is reported at its own field."""
    key, both = FIELDS[CredentialKind.CLIENT_KEY], (*FIELDS[CredentialKind.CLIENT_KEY], PASSPHRASE)
    assert problem_of_text(ConfigurationError("It is encrypted.", about="passphrase"), key) is ENCRYPTED_KEY
    wrong = ConfigurationError("The private key cannot be decrypted with this passphrase.", about="passphrase")
    assert problem_of_text(wrong, both).place == "passphrase"
    refused = TokenRefused("refused", status=401)
    assert problem_of(refused, mode=Mode.LIVE, fields=both).place == "private_key"


def test_a_refused_scope_is_reported_at_its_field():
    """The secret was accepted, so it stays in its field."""
    fields = FIELDS[CredentialKind.CLIENT_SECRET]
    refused = TokenRefused("refused", "Check the scope in form_fields.", status=400, error="invalid_scope")
    problem = problem_of(refused, mode=Mode.LIVE, fields=fields)
    assert (problem.place, "form_fields" in problem.next_step) == ("scope", False)
    assert problem_of(refused, mode=Mode.LIVE).place == "credentials"


def test_advice_about_a_key_fits_the_panel():
    """Advice that only code can follow is replaced; other advice stays."""
    fields = FIELDS[CredentialKind.CLIENT_KEY]
    of_code = ConfigurationError("The private key is neither PEM nor JWK text.", "Give it as a pathlib.Path.")
    assert problem_of_text(of_code, fields).next_step == "Choose its file, or paste the whole text of the file."
    of_keys = ConfigurationError("This RSA key has 1024 bits.", "Use 2048 bits or more.")
    assert problem_of_text(of_keys, fields).next_step == "Use 2048 bits or more."


def test_a_name_close_to_an_existing_cassette_is_pointed_out(tmp_path):
    """A name close to an existing cassette is pointed out; other new names are fine."""
    settings = Settings(project=tmp_path)
    settings.cassettes_folder.mkdir()
    (settings.cassettes_folder / "tour.yaml").write_text("version: 1", encoding="utf-8")
    problem = nearly_called("toor", settings)
    assert problem.place == "cassette"
    assert problem.what == "The cassette toor.yaml does not exist yet; similar names: tour.yaml."
    assert nearly_called("tour", settings) is None
    assert nearly_called("accounts", settings) is None


@pytest.mark.parametrize(
    ("what", "next_step", "is_unchanged"),
    [
        (
            "The cassette tour.yaml holds no call of the environment live.",
            "It holds calls of paper; choose that.",
            True,
        ),
        ("The address auth is not set.", 'Set auth = "https://..." in the settings.', True),
        ("The cassette /home/desk/merger.yaml does not exist.", "Check the name.", False),
        (r"The cassette C:\desk\merger.yaml does not exist.", "Check the name.", False),
        ("The address auth is not set.", "Set it under [addresses] (looked at ~/desk/toolkit.toml).", False),
    ],
)
def test_visitors_are_not_shown_where_files_are(what, next_step, is_unchanged):
    """Problems with a path are reworded for visitors; others stay."""
    shown = without_paths(PanelProblem("cassette", what, next_step))
    assert shown.place == "cassette"
    assert ((shown.what, shown.next_step) == (what, next_step)) is is_unchanged
    assert is_unchanged or "desk" not in shown.what + shown.next_step
