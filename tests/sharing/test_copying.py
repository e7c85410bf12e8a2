"""The copy of a notebook and its recordings holds nothing of what the rules replace, and the rest as it was."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from urllib.parse import quote

import canaries
import pytest
from hypothesis import given
from hypothesis import strategies as st
from notebook_files import new_cell
from recordings import make_authorization, make_interaction

from toolkit.cassettes.format import contents
from toolkit.core.document import Environment
from toolkit.core.errors import PublishError, SecretLeak
from toolkit.core.secret import REGISTER, Secret
from toolkit.local.settings import Settings
from toolkit.scrubbing.known import KnownSecrets
from toolkit.scrubbing.rules.model import Rules
from toolkit.scrubbing.scrubber import Scrubber
from toolkit.sharing.publishing import checking, copied_cassettes
from toolkit.sharing.publishing.copied_cassettes import PlayedCassette
from toolkit.sharing.publishing.copying import Copier

RULES = {"pseudonyms": ["account_number", "holder", "email"], "names": ["pin"]}
NAMES = st.sampled_from(["Zdenka Quimby", "Otto van Nakamura", "José Ñandú-Li", "Wu Xiu"])
NUMBERS = st.integers(10_000_000, 10**12).map(str) | st.sampled_from(["0077112233", "DE12 3456 7890 1234"])
MAILS = st.sampled_from(["z.quimby@bank.example", "o+n@x-y.example", "JOSE@bank.example"])


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project")
    (folder / "toolkit.toml").write_text("")
    return folder


PASSPHRASE = "wandering amber giraffes paint"


def settings_of(project, **changes):
    return Settings(project=project, scrubbing=RULES, **changes)


def played(*interactions, name="people"):
    place = Path("cassettes") / f"{name}.yaml"
    return PlayedCassette(Path("/project") / place, place, interactions, frozenset(range(len(interactions))))


def notebook(*sources, **metadata):
    cells = [new_cell(number, source) for number, source in enumerate(sources, start=1)]
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def people(number, name, mail, **more):
    return json.dumps(
        {"people": [{"account_number": number, "holder": name, "email": mail, "pin": "4711", **more}]}
    ).encode()


def copy_of(project, content, *cassettes, known=None, **changes):
    return Copier(settings_of(project, **changes), known or KnownSecrets()).copy(
        content, Path("notebooks/report.ipynb"), list(cassettes)
    )


@given(NUMBERS, NAMES, MAILS)
def test_nothing_of_what_is_replaced_is_left(project, number, name, mail):
    """Wherever a value stands in the notebook, in whatever form, it is replaced as in the recordings."""
    recorded = make_interaction(
        f"/v1/accounts/{quote(number)}", people(number, name, mail, note=f"ask {name} ({number})")
    )
    turned = ", ".join(reversed(name.rsplit(" ", 1)))
    content = notebook(
        f"# {name}: {number}, {mail.upper()}, {base64.b64encode(number.encode()).decode()}",
        f"get('/v1/accounts/{quote(number)}')  # {turned}\nx = {{'{mail}': '{number}'}}",
        authors=[{"name": name}],
        widgets={"application/vnd.jupyter.widget-state+json": {"state": {"a": {"value": name}}}},
    )
    content["cells"][0]["attachments"] = {f"{number}.txt": {"text/plain": f"{name} {number}"}}
    content["cells"][1]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": name}]
    content["cells"][1]["metadata"] = {"ExecuteTime": {"of": name}, "tags": ["chart", number]}
    known = KnownSecrets()
    copy = copy_of(project, content, played(recorded), known=known)
    checking.check_files(copy.files, known, copy.replacements)
    for data in copy.files.values():
        canaries.assert_absent(data, [number, name, mail], layers=2)
    (interaction,) = [contents.read(copy.files["cassettes/people.yaml"], source="").interaction(0)]
    (person,) = json.loads(interaction.response.body)["people"]
    published = json.loads(copy.files[copy.notebook])
    source = "".join(published["cells"][1]["source"])
    assert person["email"] in source
    assert person["account_number"] in source
    assert person["holder"] in "".join(published["cells"][0]["source"])
    assert person["pin"] == "<PIN>"
    assert published["cells"][1]["outputs"] == []
    assert published["cells"][1]["metadata"]["tags"] == ["chart", person["account_number"]]
    assert published["metadata"] == {}
    assert quote(person["account_number"]) in interaction.request.uri


def test_a_secret_in_the_originals_is_counted_and_told(project):
    """A known secret in the text or in a recording counts as replaced, and a note says which original holds it."""
    REGISTER.add("CLIENT_SECRET", Secret(PASSPHRASE))
    body = json.dumps({"note": PASSPHRASE}).encode()
    for source, recorded, name in (
        (f"# It is {PASSPHRASE}", b"{}", "notebooks/report.ipynb"),
        ("# Nothing", body, "cassettes/people.yaml"),
    ):
        copy = copy_of(project, notebook(source), played(make_interaction(body=recorded)))
        assert copy.replaced == 1
        (note,) = [note for note in copy.notes if "itself holds a secret" in note]
        assert note.startswith(f"{name} itself holds a secret (<CLIENT_SECRET>)")
        canaries.assert_absent(b"".join(copy.files.values()), PASSPHRASE)


def test_the_same_copy_every_time(project):
    """Equal input gives equal bytes."""
    arguments = (
        notebook("# Zdenka Quimby"),
        played(make_interaction(body=people("4711000815", "Zdenka Quimby", "a@b.example"))),
    )
    assert copy_of(project, *arguments).files == copy_of(project, *arguments).files


@pytest.mark.parametrize("is_noted", [True, False])
def test_values_behind_the_stand_ins_of_a_recording(project, is_noted):
    """The author's texts may name who the recording, made with the rules, does not: the user's key finds them."""
    body = people("4711000815", "Zdenka Quimby", "z.quimby@bank.example")
    first = Scrubber(KnownSecrets(), rules=Rules(**RULES))
    (recorded,) = copied_cassettes.scrubbed([played(make_interaction(body=body))], first)
    assert b"Quimby" not in recorded[0].response.body
    recorded = recorded if is_noted else [each._replace(pseudonyms=()) for each in recorded]
    content = notebook("# 4711000815 of **Zdenka Quimby** <z.quimby@bank.example>", "x = '4711000815'")
    copy = copy_of(project, content, played(*recorded))
    for data in copy.files.values():
        canaries.assert_absent(data, ["4711000815", "Zdenka Quimby", "z.quimby@bank.example"], layers=1)
    (interaction,) = [contents.read(copy.files["cassettes/people.yaml"], source="").interaction(0)]
    (person,) = json.loads(interaction.response.body)["people"]
    assert (interaction.response.body == recorded[0].response.body) is is_noted
    assert f"x = '{person['account_number']}'" in "".join(json.loads(copy.files[copy.notebook])["cells"][1]["source"])


def test_addresses_and_names_of_files(project):
    """The service's addresses become symbolic in texts, files are renamed as in the code, and folders are not named."""
    content = notebook(
        f"# at https://api.bank.example/v1 and api.bank.example, in {project}/notebooks", "open('4711000815')"
    )
    interaction = make_interaction(body=people("4711000815", "Zdenka Quimby", "a@b.example"))
    addresses = {"broker": "https://api.bank.example"}
    copy = copy_of(project, content, played(interaction, name="of-4711000815"), addresses=addresses)
    text = "".join(json.loads(copy.files[copy.notebook])["cells"][0]["source"])
    assert text == "# at https://broker.svc.invalid/v1 and broker.svc.invalid, in …/notebooks"
    (name,) = [name for name in copy.files if name.endswith(".yaml")]
    assert "4711000815" not in name
    assert name.removeprefix("cassettes/of-").removesuffix(".yaml") in copy.files[copy.notebook].decode()


def test_what_the_rules_do_not_find_is_found_by_the_check(project):
    """A secret or a value that was not replaced is refused; the message names the cell, not the value."""
    secret = canaries.new()
    known = KnownSecrets()
    known.add_texts([secret])
    interaction = make_interaction(body=people("4711000815", "Zdenka Quimby", "a@b.example"))
    copy = copy_of(project, notebook("# a", "b = 1"), played(interaction), known=known)
    for hidden, place in ((secret.encode(), "cell 2"), (b"Zdenka Quimby " * 9, "cell 2")):
        content = json.loads(copy.files[copy.notebook])
        picture = base64.b64encode(b"\x89PNG\r\n\x1a\n" + base64.b64encode(hidden)).decode()
        data = {"output_type": "display_data", "metadata": {}, "data": {"image/png": picture}}
        content["cells"][1]["outputs"] = [data]
        files = {**copy.files, copy.notebook: json.dumps(content).encode()}
        with pytest.raises(SecretLeak, match=place) as error:
            checking.check_files(files, known, copy.replacements)
        assert canaries.found_in(str(error.value), [secret, "Zdenka Quimby"]) == []
        assert "Nothing was written" in error.value.next_step


def test_short_values_are_looked_for_as_words(project):
    """A short name is replaced in free text of recordings and refused in outputs."""
    body = people("4711000815", "Zazu", "a@b.example", note="Zazu says hi", currency="USD")
    known = KnownSecrets()
    copy = copy_of(project, notebook("# Zazu", "print('USD')"), played(make_interaction(body=body)), known=known)
    assert not any(b"Zazu" in data for data in copy.files.values())
    assert b"USD" in copy.files[copy.notebook]
    content = json.loads(copy.files[copy.notebook])
    content["cells"][1]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "by Zazu"}]
    with pytest.raises(SecretLeak, match="cell 2, outputs"):
        checking.check_files({copy.notebook: json.dumps(content).encode()}, known, copy.replacements)


def test_the_name_of_the_target_is_checked(project):
    """A name that holds a value is refused, and not repeated."""
    body = people("4711000815", "Zdenka Quimby", "a@b.example")
    copy = copy_of(project, notebook("# a"), played(make_interaction(body=body)))
    for name in ("of-4711000815.zip", "zdenka_quimby"):
        with pytest.raises(SecretLeak, match="The name of the") as error:
            checking.check_name(name, copy.replacements)
        assert name not in str(error.value)
    checking.check_name("report.zip", copy.replacements)


def test_cells_that_do_not_run_keep_text_only(project):
    """The outputs of a skipped cell are kept as far as they are text, with values replaced; the author is told."""
    content = notebook("# a", ("live()", "skip-execution"))
    outputs = {"text/plain": "of 4711000815", "image/png": "aGk="}
    content["cells"][1]["outputs"] = [
        {"output_type": "display_data", "metadata": {"a": 1}, "data": outputs},
        {"output_type": "display_data", "metadata": {}, "data": {"image/png": "aGk="}},
    ]
    copy = copy_of(
        project, content, played(make_interaction(body=people("4711000815", "Zdenka Quimby", "a@b.example")))
    )
    kept = json.loads(copy.files[copy.notebook])["cells"][1]["outputs"]
    assert [list(output["data"]) for output in kept] == [["text/plain"], []]
    assert b"4711000815" not in copy.files[copy.notebook]
    assert any("Cell 2 is not run" in note for note in copy.notes)


def test_a_notebook_that_records_stays_offline(project):
    """A copy of a notebook with a mode that records gets a first cell that keeps it offline."""
    content = notebook("# title", "MODE = 'all'", "tk.Session(cassette='people', mode=MODE)")
    copy = copy_of(project, content, played(make_interaction()))
    assert "tk.offline()" in "".join(json.loads(copy.files[copy.notebook])["cells"][1]["source"])
    copy = copy_of(
        project, notebook("tk.Session(cassette='people')", "f.dropna(how='all')"), played(make_interaction())
    )
    assert b"tk.offline()" not in copy.files[copy.notebook]


def test_environments_of_real_accounts():
    """A recording is of a real account by its credentials, its token request or its address."""
    by = [make_authorization(environment=environment) for environment in Environment]
    plain = make_interaction(request={"uri": "https://api.example/"})
    assert copied_cassettes.real_environments([plain]) == []
    assert copied_cassettes.real_environments([plain._replace(authorized_by=each) for each in by]) == [
        "live",
        "broker-live",
    ]
    assert copied_cassettes.real_environments([plain._replace(token_obtained=by[2])]) == ["broker-live"]
    trading = make_interaction(request={"uri": "https://trading-live.svc.invalid/v2/account"})
    assert copied_cassettes.real_environments([trading, make_interaction()]) == ["live", "broker-live"]


def test_cassettes_outside_the_project(project, tmp_path):
    """A cassette elsewhere is not given away."""
    (tmp_path / "a.yaml").write_bytes(copied_cassettes.encoded([make_interaction()]))
    with pytest.raises(PublishError, match="outside the project"):
        copied_cassettes.read_played({tmp_path / "a.yaml": {0}}, project)


def test_json_stays_json(project):
    """Values are replaced within the texts and numbers of JSON, not across them; profiles are replaced, too."""
    body = b'{"account_number": 4711000815, "list": ["Zdenka", "Quimby"], "n": 4711.000815, "t": "\\u00e9 4711-000815"}'
    interaction = make_interaction(body=body, authorized_by=make_authorization("desk-4711000815"))
    other = make_interaction(body=people("1", "Zdenka Quimby", "a@b.example"))
    copy = copy_of(project, notebook("# a"), played(interaction, other))
    (new, _) = (contents.read(copy.files["cassettes/people.yaml"], source="").interaction(each) for each in range(2))
    content = json.loads(new.response.body)
    assert len(content["list"]) == 2
    assert content["t"] == f"é {content['account_number']}"
    assert content["n"] == 4711.000815
    assert "4711000815" not in new.authorized_by.profile
