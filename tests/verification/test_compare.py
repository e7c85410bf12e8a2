"""The normal form of outputs, and that after it every changed character is a difference."""

import base64
import copy
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.verification.compare import differences, normal_form, places_of

WIDGET = "application/vnd.jupyter.widget-view+json"


def chunk(kind, content):
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png(*extra):
    head = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    chunks = [chunk(b"IHDR", head), *extra, chunk(b"IDAT", zlib.compress(b"\0\0")), chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def encoded(*extra):
    return base64.b64encode(png(*extra)).decode()


def cell(*outputs):
    return {"cell_type": "code", "source": "\n x = 1", "metadata": {}, "outputs": list(outputs)}


def stream(text, name="stdout"):
    return {"output_type": "stream", "name": name, "text": text}


def shown(**data):
    named = {name.replace("_", "/").replace("svg", "svg+xml"): value for name, value in data.items()}
    return {"output_type": "display_data", "metadata": {}, "data": named}


def compared(before, after, places=None):
    cells = [cell(*before)]
    return differences(cells, *(normal_form([cell(*outputs)], places or {}) for outputs in (before, after)))


MANY = [
    stream("a line\nand\n"),
    stream("a warning", "stderr"),
    shown(text_plain="   cash\n0  1.5", text_html="<table><tr><td>1.5</td></tr></table>"),
    shown(image_png=encoded(), text_plain="<Chart>"),
    shown(image_svg="<svg><path d='M 0 1'/></svg>", application_json={"a": [1, None, "b"]}),
    {
        "output_type": "execute_result",
        "metadata": {"isolated": True},
        "data": {"text/plain": "7"},
        "execution_count": 3,
    },
    {"output_type": "error", "ename": "E", "evalue": "v", "traceback": ["\x1b[31mE\x1b[0m: <v>", "line"]},
]


def texts(value, path=()):
    """Yield the place of each text in a JSON value; names of members and kinds of outputs are not results."""
    if isinstance(value, str) and path[-1:] not in [("output_type",), ("name",)]:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, item in items:
        yield from texts(item, (*path, name))


@given(st.data())
def test_a_changed_character_is_a_difference(data):
    """Any character of any output that becomes another one, is added or removed, makes the cell differ."""
    path = data.draw(st.sampled_from(list(texts(MANY))))
    changed = copy.deepcopy(MANY)
    *above, last = path
    place = changed
    for name in above:
        place = place[name]
    at = data.draw(st.integers(0, len(place[last]) - 1))
    new = data.draw(st.sampled_from(["", "x", "Q", "7", "\n", "\u2028"]).filter(lambda new: new != place[last][at]))
    place[last] = place[last][:at] + new + place[last][at + 1 :]
    (difference,) = compared(MANY, changed)
    assert str(difference.cell) == "cell 1 (x = 1)"
    assert difference.diff


def test_the_same_is_no_difference():
    """The same outputs, and those of another program, are no difference."""
    other = copy.deepcopy(MANY)
    other[0:1] = [stream("a li"), stream("ne\nand\n")]
    other[4]["data"]["image/png"] = encoded(chunk(b"tEXt", b"Software\0M 3.1")) + "\n"
    other[6]["execution_count"] = 9
    assert compared(MANY, MANY) == ()
    assert compared(MANY, other) == ()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (stream("0 %\r100 %\n"), stream("100 %\n")),
        (stream("<object at 0x7fa40bb8fc90>"), stream("<object at 0x55d0c0ffee>")),
        (stream("/var/t/ipykernel_7/123.py:1: W"), stream("C:\\T\\ipykernel_9\\-4.py:1: W")),
        (stream("/var/t/ipykernel_7/123.py:1: W"), stream("<cell 3>:1: W")),
        (shown(text_html='<b id="T_0a1b2_row0">'), shown(text_html='<b id="T_c3d4e_row0">')),
    ],
)
def test_what_depends_on_the_run(one, other):
    """Overwritten progress, addresses, names of ipykernel's files and of styled tables are the same after each run."""
    assert compared([one], [other]) == ()


def test_streams_come_in_any_order():
    """The kernel sends stdout and stderr in any order."""
    assert compared([stream("e", "stderr"), stream("o")], [stream("o"), stream("e", "stderr")]) == ()
    assert compared([stream("o"), shown(text_plain="x")], [shown(text_plain="x"), stream("o")])


def test_two_widgets_that_change_places():
    """A widget is the same in two outputs or not, whatever its name."""
    one, two = (
        {"output_type": "display_data", "metadata": {}, "data": {WIDGET: {"model_id": name * 32}}} for name in "ab"
    )
    assert compared([one, two], [two, one]) == ()
    assert compared([one, two], [one, one])


def test_folders():
    """Folders are replaced longest first and as whole names, also after a colour; names with the same start stay."""
    places = {"/home/ann/proj/nb": "[notebooks]", "/home/ann": "~"}
    pairs = [("/home/ann/proj/nb/x.py", "[notebooks]/x.py"), ("\x1b[32m/home/ann/a\x1b[39m", "\x1b[32m~/a\x1b[39m")]
    for text, expected in [*pairs, ("'/home/ann'", "'~'"), *((text, text) for text in ("/home/anna", "x/home/ann"))]:
        [[output]] = normal_form([cell(shown(text_plain=text))], places)
        assert output["data"]["text/plain"] == expected


def test_folders_of_the_user_and_of_the_kernel(tmp_path, monkeypatch):
    """A path below the project is the same, whether the user's kernel or that of a verification shows it."""
    monkeypatch.setenv("HOME", str(tmp_path / "ann"))
    for folder in ("ann", "disk"):
        (tmp_path / folder).mkdir()
    (tmp_path / "ann" / "desk").symlink_to(tmp_path / "disk")
    places = places_of(tmp_path / "ann" / "desk", home=tmp_path / "k" / "home", temporary=tmp_path / "k" / "tmp")
    pairs = [("ann/desk/a.csv", "[project]/a.csv"), ("ann/x", "~/x"), ("k/home/x", "~/x"), ("k/tmp/x", "[temporary]/x")]
    pairs.append(("disk/x", "[project]/x"))
    for path, expected in pairs:
        assert normal_form([cell(stream(f"{tmp_path}/{path}"))], places)[0][0]["text"] == expected
    assert normal_form([cell(stream("~/desk/a.csv"))], places)[0][0]["text"] == "[project]/a.csv"


def test_lines_of_a_difference():
    """A difference shows the lines that changed; of markup its text, of pictures a digest, never base64 or tags."""
    (difference,) = compared(
        MANY, [*MANY[:2], shown(text_plain="   cash\n0  2.5", text_html=MANY[2]["data"]["text/html"])]
    )
    assert {"-0  1.5", "+0  2.5"} <= set(difference.diff)
    (difference,) = compared([shown(application_json={"a": 1, "b": "o"})], [shown(application_json={"b": "ö", "a": 1})])
    assert difference.diff == ('  "a": 1,', '- "b": "o"', '+ "b": "ö"', " }")
    picture = [shown(text_plain="one", image_png=encoded(), text_html="<b onclick='x'>1</b>")]
    changed = encoded()[:-9] + "AAAAAAAA="
    (difference,) = compared(picture, [shown(text_plain="two", image_png=changed, text_html="<b>2</b>")])
    text = "\n".join(difference.diff)
    assert [line for line in difference.diff if line in ("-one", "-1", "+two", "+2")] == ["-one", "-1", "+two", "+2"]
    assert "\n+[image/png: " in text
    assert "<b" not in text
    assert encoded()[:20] not in text
