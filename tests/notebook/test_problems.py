"""What goes wrong is said beside the control that it is about."""

from __future__ import annotations

import pytest

from toolkit.auth.profiles.profile import Profile
from toolkit.core.document import CredentialKind, Environment
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
from toolkit.notebook.panel.choices import FIELDS, PASSPHRASE, Mode
from toolkit.notebook.panel.problems import (
    ENCRYPTED_KEY,
    PanelProblem,
    missing_profile,
    nearly_called,
    no_cassettes,
    problem_of,
    problem_of_bug,
    problem_of_text,
    without_paths,
    wrong_name,
)

TYPED = FIELDS[CredentialKind.CLIENT_SECRET]


@pytest.mark.parametrize(
    ("error", "place"),
    [
        (TokenRefused("refused", status=401), "client_secret"),
        (TokenRefused("refused", status=400), "client_secret"),
        (TokenRefused("out of order", status=503), "connect"),
        (TokenResponseInvalid("a login page"), "environment"),
        (ServiceError("refused", status=403), "client_secret"),
        (ServiceError("out of order", status=500), "connect"),
        (Unreachable("no connection"), "environment"),
        (UnsafeAddress("http beyond this machine"), "environment"),
        (CredentialsMismatch("another environment"), "credentials"),
        (CassetteBusy("another process"), "cassette"),
        (ConfigurationError("The address is not set.", about="auth"), "environment"),
        (ConfigurationError("There is no profile of that name for paper."), "credentials"),
        (TabulationError("no JSON"), "connect"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else value,
)
def test_an_error_of_connecting_has_a_place(error, place):
    """The one where somebody can do something about it."""
    problem = problem_of(error, mode=Mode.RECORD, fields=TYPED)
    assert (problem.place, problem.what) == (place, error.what)


def test_refused_credentials_are_called_what_their_fields_are():
    """The call that they are proved with is the panel's own: nothing is said of its table."""
    pair = FIELDS[CredentialKind.KEY_PAIR]
    error = ServiceError("The service answered with status 401, so there is no table.", "Check them.", status=401)
    refused = problem_of(error, mode=Mode.LIVE, fields=pair)
    assert refused.what == "The service did not accept these credentials (status 401)."
    assert refused.next_step == "Check key ID and secret key, and that they belong to this environment."
    saved = problem_of(error, mode=Mode.LIVE)
    assert saved.next_step == "Check them, and that they belong to this environment."


@pytest.mark.parametrize("name", ["../up", "a/b", "a\\b", "v1.2", "a.json", ".hidden", "a:b", "x" * 300, ""])
def test_a_new_cassette_is_named_and_not_placed(name, settings):
    """What in code is a path would end up outside of the cassettes folder."""
    problem = wrong_name(name, settings)
    assert problem.place == "cassette"
    assert "name" in problem.next_step or "one" in problem.next_step


def test_a_good_name_is_no_problem(settings):
    """Whether or not there is such a cassette."""
    assert wrong_name("accounts of May_2026-1", settings) is None


def test_refused_credentials_that_were_not_typed_are_those_chosen():
    """There is no field for a saved profile but the choice itself."""
    assert problem_of(TokenRefused("refused", status=401), mode=Mode.LIVE).place == "credentials"


def test_a_recording_is_to_blame_for_what_a_replay_lacks():
    """Its environment is a matter of the choice of environment, live calls while offline of the mode."""
    assert problem_of(ConfigurationError("does not tell the environment"), mode=Mode.REPLAY).place == "environment"
    assert problem_of(CassetteMiss("no such cassette"), mode=Mode.REPLAY).place == "cassette"
    assert problem_of(CassetteMiss("TOOLKIT_OFFLINE"), mode=Mode.LIVE).place == "mode"


def test_a_malformed_text_is_said_beside_the_field_that_the_error_is_about():
    """If the error is about none of the fields, it stands beside the secret."""
    assert problem_of_text(ConfigurationError("It is empty.", about="client_id"), TYPED).place == "client_id"
    assert problem_of_text(ConfigurationError("Something is wrong."), TYPED).place == "client_secret"


def test_words_about_a_passphrase_stand_beside_it():
    """An encrypted key is asked for one; a wrong one is no fault of the key."""
    key, both = FIELDS[CredentialKind.CLIENT_KEY], (*FIELDS[CredentialKind.CLIENT_KEY], PASSPHRASE)
    assert problem_of_text(ConfigurationError("It is encrypted.", about="passphrase"), key) is ENCRYPTED_KEY
    wrong = ConfigurationError("The private key cannot be decrypted with this passphrase.", about="passphrase")
    assert problem_of_text(wrong, both).place == "passphrase"
    refused = TokenRefused("refused", status=401)
    assert problem_of(refused, mode=Mode.LIVE, fields=both).place == "private_key"


def test_advice_about_a_key_is_what_can_be_done_on_the_panel():
    """A Path or a key object are for code; other advice stays."""
    fields = FIELDS[CredentialKind.CLIENT_KEY]
    of_code = ConfigurationError("The private key is neither PEM nor JWK text.", "Give it as a pathlib.Path.")
    assert problem_of_text(of_code, fields).next_step == "Choose its file, or paste it: PEM or JWK."
    of_keys = ConfigurationError("This RSA key has 1024 bits.", "Use 2048 bits or more.")
    assert problem_of_text(of_keys, fields).next_step == "Use 2048 bits or more."


def test_a_profile_is_missing_only_when_the_notebook_names_it():
    """The name itself is not repeated: a secret given in its place would be saved with the widgets."""
    profiles = [Profile("desk", Environment.PAPER, CredentialKind.KEY_PAIR, "keyring")]
    assert missing_profile(Environment.PAPER, profiles, None) is None
    assert missing_profile(Environment.PAPER, profiles, "desk") is None
    missing = missing_profile(Environment.LIVE, profiles, "desk")
    assert missing is not None
    assert "desk" not in missing.what + missing.next_step


def test_words_without_an_error(tmp_path):
    """Nothing to replay, and errors that are none of ours, are said in words too."""
    assert no_cassettes(Settings(project=tmp_path)).what == "There are no cassettes in cassettes."
    assert problem_of_bug(RuntimeError("secret")).what == "Connecting failed: RuntimeError."


def test_a_cassette_of_nearly_the_name_that_is_given(tmp_path):
    """A slip is told before something is recorded under it; a new name is not."""
    settings = Settings(project=tmp_path)
    settings.cassettes_folder.mkdir()
    (settings.cassettes_folder / "tour.yaml").write_text("version: 1", encoding="utf-8")
    problem = nearly_called("toor", settings)
    assert problem.place == "cassette"
    assert problem.what == "There is no cassette toor.yaml yet, but there is tour.yaml."
    assert nearly_called("tour", settings) is None
    assert nearly_called("accounts", settings) is None


@pytest.mark.parametrize(
    ("what", "next_step", "is_told"),
    [
        (
            "The cassette tour.yaml holds no call of the environment live.",
            "It holds calls of paper; choose that.",
            True,
        ),
        ("The address auth is not set.", 'Set auth = "https://..." in the settings.', True),
        ("There is no cassette /home/desk/merger.yaml.", "Check the name.", False),
        (r"There is no cassette C:\desk\merger.yaml.", "Check the name.", False),
        ("The address auth is not set.", "Set it under [addresses] (looked at ~/desk/toolkit.toml).", False),
    ],
)
def test_visitors_are_not_told_where_files_are(what, next_step, is_told):
    """Nor what lies beside them; what has no path in it helps them as it is."""
    told = without_paths(PanelProblem("cassette", what, next_step))
    assert told.place == "cassette"
    assert ((told.what, told.next_step) == (what, next_step)) is is_told
    assert is_told or "desk" not in told.what + told.next_step
