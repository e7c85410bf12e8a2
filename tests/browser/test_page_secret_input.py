"""The page keeps the texts of secret fields to itself, and sends them when it is asked."""

from __future__ import annotations

import pytest
from bare_page import BareWidget

from toolkit.notebook.secret_input import Field, SecretInput


def as_shown(fields):
    """Return fields as the kernel sends them to the page."""
    widget = SecretInput(answered=None, submitted=None)
    widget.show(fields)
    return widget.fields


KEY_PAIR = as_shown([Field("key_id"), Field("secret_key")])
CLIENT_KEY = as_shown([Field("client_id", masked=False), Field("private_key", is_key=True)])
OPTIONS = as_shown(
    [
        Field("client_id", masked=False),
        Field("algorithm", masked=False, is_option=True, choices=(("", "the default"), ("ES256", "ES256"))),
        Field("scope", masked=False, is_option=True, hint="Empty: none."),
    ]
)
SLOW_FILES = """() => {
  const read = File.prototype.text;
  File.prototype.text = async function () {
    if (this.name.startsWith("slow")) await new Promise((done) => setTimeout(done, 300));
    if (this.name.startsWith("broken")) throw new Error("cannot be read");
    return read.call(this);
  };
}"""


@pytest.fixture
def open_fields(page):
    """Return a function that shows fields in an empty page."""
    return lambda fields: BareWidget(page, SecretInput, fields=fields, problems={})


def answer(widget, number=1):
    """Ask as the kernel does, and return the texts that the page sends."""
    widget.receive(type="ask", number=number)
    widget.page.wait_for_function("(number) => widget.sent.some(([{number: n}]) => n === number)", arg=number)
    return next(texts for content, texts in widget.sent if content == {"type": "texts", "number": number})


def test_texts_are_sent_once_for_each_question(open_fields):
    """Texts are sent once for each numbered question; Enter asks the kernel to connect."""
    widget = open_fields(KEY_PAIR)
    widget.page.get_by_label("Key ID").fill("one")
    widget.page.get_by_label("Secret key").fill("two")
    widget.page.get_by_label("Secret key").press("Enter")
    assert widget.sent == [[{"type": "submit"}, []]]
    assert answer(widget) == ["one", "two"]
    widget.receive(type="ask", number=1)
    assert answer(widget, 2) == ["one", "two"]
    assert len(widget.sent) == 3


def test_two_panels_share_no_ids(open_fields):
    """A click on a label focuses the field of the same panel, because no two elements of the page share an id."""
    widget = open_fields(KEY_PAIR)
    widget.add_another(SecretInput, fields=KEY_PAIR, problems={})
    ids = widget.page.evaluate("() => [...document.querySelectorAll('[id]')].map(({ id }) => id)")
    assert len(ids) == len(set(ids)) == 2 + 8
    for place in ("another", "view"):
        widget.page.locator(f"#{place} label", has_text="Secret key").click()
        inputs = f"[...document.querySelectorAll('#{place} input')]"
        assert widget.page.evaluate(f"() => {inputs}.indexOf(document.activeElement)") == 1


def test_fields_are_emptied_when_the_kernel_says_so(open_fields):
    """Fields are emptied when the kernel says so, when they are no longer shown, or with Escape."""
    widget = open_fields(KEY_PAIR)
    key_id, secret_key = widget.page.get_by_label("Key ID"), widget.page.get_by_label("Secret key")
    for field in (key_id, secret_key):
        field.fill("typed")
    widget.receive(type="forget", names=["secret_key"])
    assert (key_id.input_value(), secret_key.input_value()) == ("typed", "")
    widget.change(fields=CLIENT_KEY)
    widget.change(fields=KEY_PAIR)
    assert key_id.input_value() == ""
    key_id.fill("typed")
    key_id.press("Escape")
    assert key_id.input_value() == ""
    assert answer(widget) == ["", ""]


def test_the_key_that_was_chosen_last_is_sent(open_fields, tmp_path):
    """The key that was chosen last is sent, even if an earlier file is read slowly or a later file is refused."""
    widget = open_fields(CLIENT_KEY)
    widget.page.evaluate(SLOW_FILES)
    file, typed = widget.page.get_by_label("Private key file"), widget.page.get_by_label("Private key", exact=True)
    paths = {name: tmp_path / f"{name}.pem" for name in ("slow", "fast", "broken", "large")}
    for name, path in paths.items():
        path.write_text(f"fake key {name}" + "x" * (100_000 if name == "large" else 0))

    def sent(number, *names):
        for name in names:
            file.set_input_files(paths[name])
        if names[-1] in ("broken", "large"):
            widget.page.get_by_text("This file").wait_for()
        return answer(widget, number)[1]

    assert sent(1, "slow", "fast") == "fake key fast"
    assert sent(2, "fast", "large") == ""
    assert sent(3, "fast", "broken") == ""
    assert sent(4, "slow") == "fake key slow"
    file.set_input_files(paths["slow"])
    typed.fill("typed meanwhile")
    assert answer(widget, 5)[1] == "typed meanwhile"


def test_a_problem_stands_beside_its_field(open_fields):
    """A field with a problem is marked, described, and focused unless the user is elsewhere, also in the panel."""
    widget = open_fields(KEY_PAIR)
    field = widget.page.get_by_label("Secret key")
    widget.change(problems={"secret_key": "It is empty."})
    assert widget.page.get_by_role("alert").filter(has_text="It is empty.").is_visible()
    assert field.get_attribute("aria-invalid") == "true"
    described = "(input) => document.getElementById(input.getAttribute('aria-describedby')).textContent"
    assert field.evaluate(described) == "It is empty."
    assert field.evaluate("(input) => document.activeElement === input")
    widget.page.get_by_role("button", name="Connect").focus()
    widget.change(problems={"key_id": "It is empty."})
    assert widget.page.get_by_label("Key ID").evaluate("(input) => document.activeElement === input")
    for elsewhere in (widget.page.get_by_role("button", name="Elsewhere"), widget.page.get_by_label("Mode")):
        elsewhere.focus()
        widget.change(problems={"key_id": "It is still empty."})
        assert elsewhere.evaluate("(element) => document.activeElement === element")


def test_options_are_below_a_disclosure(open_fields):
    """Options are hidden until they are asked for, keep their texts when they are hidden again, and are all sent."""
    widget = open_fields(OPTIONS)
    page, more = widget.page, widget.page.get_by_text("More options")
    algorithm, scope = page.get_by_label("Algorithm"), page.get_by_label("Scope")
    assert answer(widget) == ["", "", ""]
    assert not algorithm.is_visible()
    more.focus()
    page.keyboard.press("Enter")
    algorithm.select_option("ES256")
    scope.fill("accounts.read")
    more.click()
    assert not scope.is_visible()
    assert answer(widget, 2) == ["", "ES256", "accounts.read"]
    widget.receive(type="forget", names=["algorithm", "scope"])
    assert (algorithm.input_value(), scope.input_value()) == ("", "")
