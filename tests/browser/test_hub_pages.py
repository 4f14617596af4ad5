"""The Hub in a real browser: every page and act, by mouse and by keys, narrow, dark, and while others write."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect
from tests.kit.browser import Visitor, find_overflow, find_violations

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page
    from tests.kit.hub import RunningHub
    from tests.kit.program import Program

PAGES = ("known", "inbox", "review", "history", "health", "settings")
TABS = "Prefers tabs over spaces"
STRANGE = (
    "</p></li></main><script>document.title='owned'</script>",
    "<img src=x onerror=\"document.title='owned'\"><style>*{display:none}</style>",
    "مرحبا بالعالم، يفضل الشاي على القهوة",
    "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft" * 4,
    "{{ 7 * 7 }} {% raw %} ${7 * 7} &lt;b&gt;",
)


def row_of(page: Page, text: str) -> Locator:
    return page.locator(".entry", has=page.get_by_text(text, exact=True))


def texts(program: Program, path: str) -> str:
    place = program.root / path
    return place.read_text("utf-8") if place.exists() else ""


# Looking


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 1200])
def test_every_page_fits_and_passes_the_accessibility_rules(
    browser: Browser, hub: RunningHub, program: Program, scheme: str, width: int
) -> None:
    program("settings", "set", "workspaces.billing.root", str(program.home / "billing"))
    (program.root / "photo.png").write_bytes(b"png")
    (program.root / "notes.md").write_text("# Notes\n\n" + "".join(f"- {text}\n" for text in STRANGE), "utf-8")
    visitor = Visitor(browser, hub, viewport={"width": width, "height": 800}, color_scheme=scheme)
    page = visitor.sign_in()
    for name in (*PAGES, "known?q=billing", "known?file=notes.md", "nope", "entry?ref=repo:me.md%23L3"):
        visitor.go(name)
        assert find_overflow(page) <= 0, name
        assert find_violations(page) == [], name
    visitor.go("history")
    page.locator(".commit a").first.click()
    expect(page.locator(".diff")).not_to_have_count(0)
    assert find_overflow(page) <= 0
    assert find_violations(page) == []
    assert not visitor.faults
    visitor.context.close()


def test_what_entries_say_is_shown_as_text_whatever_it_is(page: Page, visitor: Visitor, program: Program) -> None:
    (program.root / "notes.md").write_text("".join(f"- {text}\n" for text in STRANGE), "utf-8")
    visitor.go("known?file=notes.md")
    assert page.locator(".entry-text").all_inner_texts() == list(STRANGE)
    assert page.title() == "What it knows · memrepo"
    assert page.locator(".entry-text").nth(2).evaluate("node => getComputedStyle(node).direction") == "rtl"
    for text in STRANGE[:2]:
        page.locator("#q").fill(text)
        expect(page.locator("#found")).to_have_text(f"1 entry holds “{text}”")
    assert page.title() == "What it knows · memrepo"


def test_without_script_everything_is_there_and_forms_work(browser: Browser, hub: RunningHub, program: Program) -> None:
    visitor = Visitor(browser, hub, java_script_enabled=False)
    page = visitor.page
    page.goto(hub.launch)
    page.wait_for_url("**/known")
    row_of(page, TABS).get_by_text("Edit").click()
    page.get_by_label("Text", exact=False).fill("Prefers two spaces")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    assert "Prefers two spaces" in texts(program, "me.md")
    page.get_by_role("button", name="Undo").click()
    expect(row_of(page, TABS)).to_be_visible()
    page.get_by_label("Search memory").fill("lisbon")
    page.get_by_role("button", name="Search").click()
    expect(page.locator(".entry")).to_have_count(1)
    visitor.go("inbox")
    page.locator(".tick-row").first.check()
    page.locator("#discard-many").click()
    expect(page.get_by_text("Discarded 1 entry.")).to_be_visible()
    visitor.context.close()


# What it knows


def test_the_search_filters_while_one_types_and_tells_it(page: Page) -> None:
    expect(page.locator(".entry")).to_have_count(12)
    page.locator("#q").press_sequentially("billing")
    expect(page.locator("#list .group:not(.related) .entry")).to_have_count(1)
    expect(page.locator("#found")).to_have_text("1 entry holds “billing”")
    assert page.url.endswith("known?q=billing")
    expect(page.locator("#q")).to_be_focused()
    page.locator("#q").fill("")
    expect(page.locator(".entry")).to_have_count(12)
    page.locator("#by").select_option("agent")
    expect(page.locator(".entry")).to_have_count(5)
    page.locator("#by").select_option("")
    page.locator("#q").fill("zzz")
    expect(page.get_by_text("No entry holds “zzz”.")).to_be_visible()


def test_words_in_another_order_are_found_as_related(page: Page) -> None:
    page.locator("#q").fill("friday deploys")
    expect(page.locator(".related .entry").first).to_contain_text("Deploys happen on Tuesdays")


def test_an_entry_is_edited_in_place(page: Page, program: Program) -> None:
    row_of(page, TABS).get_by_role("link", name="Edit").click()
    field = page.locator("textarea[name=text]:visible")
    expect(field).to_be_focused()
    expect(field).to_have_value(TABS)
    field.fill("Prefers two spaces")
    field.press("Enter")
    expect(row_of(page, "Prefers two spaces")).to_be_visible()
    expect(page.locator("#notice")).to_contain_text("Saved.")
    assert "Prefers two spaces [by: user; kind: preference; subject: indentation" in texts(program, "me.md")
    page.locator("#undo").click()
    expect(row_of(page, TABS)).to_be_visible()


def test_an_edit_can_be_left_with_escape_and_the_focus_goes_back(page: Page, program: Program) -> None:
    edit = row_of(page, TABS).get_by_role("link", name="Edit")
    edit.click()
    page.locator("textarea[name=text]:visible").fill("Something else")
    page.keyboard.press("Escape")
    expect(page.locator("[data-open-now]")).to_have_count(0)
    expect(edit).to_be_focused()
    assert TABS in texts(program, "me.md")


def test_an_entry_is_pinned_moved_and_forgotten(page: Page, program: Program) -> None:
    row_of(page, "Allergic to hazelnuts").get_by_role("button", name="Pin").click()
    expect(page.locator("#notice")).to_contain_text("Pinned")
    assert "Allergic to hazelnuts" in texts(program, "MEMORY.md")
    row_of(page, TABS).get_by_role("link", name="Move").click()
    page.get_by_label("or to a new file").fill("notes/style")
    page.get_by_role("button", name="Move").click()
    expect(page.locator("#files")).to_contain_text("notes/style")
    assert TABS in texts(program, "notes/style.md")
    row_of(page, TABS).get_by_role("button", name="Forget").click()
    expect(row_of(page, TABS)).to_have_count(0)
    assert TABS not in texts(program, "notes/style.md")
    page.locator("#undo").click()
    expect(row_of(page, TABS)).to_be_visible()


def test_a_fact_is_added_and_a_refusal_is_told_without_losing_the_text(page: Page, program: Program) -> None:
    page.get_by_text("Add something yourself").click()
    field = page.get_by_label("What should agents remember?")
    field.fill("x" * 600)
    page.get_by_role("button", name="Remember").click()
    expect(page.locator("#notice")).to_contain_text("Not written")
    field.fill("Drinks tea, never coffee")
    page.get_by_role("button", name="Remember").click()
    expect(row_of(page, "Drinks tea, never coffee")).to_be_visible()
    expect(field).to_have_value("")
    assert "Drinks tea, never coffee [by: user" in texts(program, "me.md")


def test_two_tabs_that_edit_one_line_both_texts_are_shown_and_nothing_is_lost(
    page: Page, visitor: Visitor, program: Program
) -> None:
    other = visitor.open_tab()
    other.goto(visitor.hub.url("known"))
    for tab, text in ((page, "Prefers two spaces"), (other, "Prefers four spaces")):
        row_of(tab, TABS).get_by_role("link", name="Edit").click()
        tab.locator("textarea[name=text]:visible").fill(text)
    page.get_by_role("button", name="Save").click()
    expect(row_of(page, "Prefers two spaces")).to_be_visible()
    other.get_by_role("button", name="Save").click()
    conflict = other.locator("#conflict")
    expect(conflict).to_contain_text("Prefers two spaces")
    expect(conflict.locator("textarea")).to_have_value("Prefers four spaces")
    assert "Prefers four spaces" not in texts(program, "me.md")
    conflict.get_by_role("button", name="Save").click()
    expect(conflict).to_have_count(0)
    expect(row_of(other, "Prefers four spaces")).to_be_visible()
    assert "Prefers two spaces" not in texts(program, "me.md")


def test_what_another_process_writes_appears_and_what_one_writes_stays(page: Page, program: Program) -> None:
    row_of(page, TABS).get_by_role("link", name="Edit").click()
    field = page.locator("textarea[name=text]:visible")
    field.fill("Half a thou")
    program("remember", "Drinks tea")
    expect(page.locator("#files")).to_contain_text("About you 5")
    expect(field).to_have_value("Half a thou")
    page.keyboard.press("Escape")
    program("remember", "Plays the cello")
    expect(row_of(page, "Plays the cello")).to_be_visible()
    expect(row_of(page, "Drinks tea")).to_be_visible()


def test_the_focus_stays_when_the_list_changes(page: Page, program: Program) -> None:
    edit = row_of(page, "Recipes are stored in grams; cups are only shown").get_by_role("link", name="Edit")
    edit.focus()
    program("remember", "Drinks tea")
    expect(row_of(page, "Drinks tea")).to_be_visible()
    expect(edit).to_be_focused()


# By keys alone


def test_everything_in_the_list_is_done_by_keys(page: Page, program: Program) -> None:
    page.keyboard.press("Control+k")
    expect(page.locator("#q")).to_be_focused()
    page.keyboard.type("spaces")
    expect(page.locator("#list .group:not(.related) .entry")).to_have_count(1)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("e")
    expect(page.locator("textarea[name=text]:visible")).to_be_focused()
    page.keyboard.press("Control+a")
    page.keyboard.type("Prefers tabs over spaces everywhere")
    page.keyboard.press("Enter")
    expect(row_of(page, "Prefers tabs over spaces everywhere")).to_be_visible()
    page.keyboard.press("p")
    expect(page.locator("#notice")).to_contain_text("Pinned")
    assert "everywhere" in texts(program, "MEMORY.md")
    page.keyboard.press("m")
    expect(page.locator("select[name=target]:visible")).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("Delete")
    expect(page.locator("#notice")).to_contain_text("Forgotten.")
    assert "everywhere" not in texts(program, "MEMORY.md")


def test_the_arrows_go_through_the_list_and_letters_in_a_field_are_letters(page: Page, program: Program) -> None:
    rows = page.locator(".entry")
    rows.nth(0).get_by_role("link", name="Edit").focus()
    for step, key in enumerate(("ArrowDown", "j", "ArrowDown"), 1):
        page.keyboard.press(key)
        expect(rows.nth(step).get_by_role("link", name="Edit")).to_be_focused()
    page.keyboard.press("k")
    expect(rows.nth(2).get_by_role("link", name="Edit")).to_be_focused()
    before = texts(program, "me.md")
    page.locator("#q").press_sequentially("pemk")
    expect(page.locator("#q")).to_have_value("pemk")
    assert texts(program, "me.md") == before


def test_the_page_can_be_reached_by_tab_alone(page: Page) -> None:
    page.keyboard.press("Tab")
    expect(page.get_by_text("Skip to the page")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id").endswith("-forget"):
            break
    page.keyboard.press("Enter")
    expect(page.locator("#notice")).to_contain_text("Forgotten.")


# The other pages


def test_the_inbox_many_at_once(page: Page, visitor: Visitor, program: Program) -> None:
    visitor.go("inbox")
    page.get_by_label("Tick all 3").check()
    expect(page.locator("[data-ticked]")).to_have_text("3 ticked")
    row_of(page, "The user is thinking about moving to Porto").get_by_role("checkbox").uncheck()
    page.locator("#keep-many").click()
    expect(page.locator("#notice")).to_contain_text("Kept 2 entries.")
    expect(page.locator(".entry")).to_have_count(1)
    expect(page.locator("#menu-inbox")).to_contain_text("1")
    assert "Run the setup script" in texts(program, "lessons.md")
    row_of(page, "The user is thinking about moving to Porto").get_by_role("button", name="Discard").click()
    expect(page.get_by_text("Nothing waits for you.")).to_be_visible()
    page.locator("#undo").click()
    expect(page.locator(".entry")).to_have_count(1)


def test_nothing_ticked_is_told(page: Page, visitor: Visitor) -> None:
    visitor.go("inbox")
    page.locator("#keep-many").click()
    expect(page.get_by_role("alert")).to_contain_text("no entry was chosen")


@pytest.mark.parametrize("yes", [True, False])
def test_a_request_of_an_agent_is_answered(page: Page, visitor: Visitor, program: Program, *, yes: bool) -> None:
    visitor.go("review")
    page.get_by_role("button", name="Forget it" if yes else "Keep it").click()
    expect(page.get_by_text("No agent waits for an answer.")).to_be_visible()
    assert ("hazelnuts" in texts(program, "me.md")) is not yes
    expect(page.locator("#menu-review")).to_have_text("Review")


def test_a_change_is_looked_at_and_undone(page: Page, visitor: Visitor, program: Program) -> None:
    visitor.go("history")
    page.get_by_role("link", name="Remember preference: Prefers tabs over spaces").click()
    expect(page.locator(".is-added", has_text=TABS)).to_have_count(1)
    page.get_by_role("button", name="Undo this change").click()
    page.wait_for_url(re.compile("history"))
    expect(page.locator("#notice")).to_contain_text("Taken back")
    assert TABS not in texts(program, "me.md")
    page.locator("#undo").click()
    expect(page.locator(".commit").first).to_contain_text("Undo: Undo: Remember")
    assert TABS in texts(program, "me.md")


def test_compaction_asks_first_and_proves(page: Page, visitor: Visitor, program: Program) -> None:
    row_of(page, "Allergic to hazelnuts").get_by_role("button", name="Forget").click()
    expect(page.locator("#notice")).to_contain_text("Forgotten.")
    visitor.go("history")
    page.get_by_role("button", name="Compact the history").click()
    assert len(program("log", "--json").document["commits"]) > 1  # the box was not ticked
    page.get_by_label("I understand").check()
    page.get_by_role("button", name="Compact the history").click()
    expect(page.get_by_role("heading", name="The history is compacted")).to_be_visible()
    expect(page.get_by_text("None is left.")).to_be_visible()
    assert find_violations(page) == []
    assert len(program("log", "--json").document["commits"]) == 1


def test_health_is_mended(page: Page, visitor: Visitor, program: Program) -> None:
    (program.root / "photo.png").write_bytes(b"png")
    visitor.go("health")
    expect(page.locator(".is-warn")).to_contain_text("photo.png")
    page.get_by_role("button", name="Ignore other files").click()
    expect(page.locator("#notice")).to_contain_text("ignored from now on")
    expect(page.get_by_text("All is well.")).to_be_visible()


def test_settings_are_changed_and_a_fault_is_told_beside_them(page: Page, visitor: Visitor, program: Program) -> None:
    visitor.go("settings")
    page.get_by_label("untrusted_tools").fill("mcp__crm__*\nmcp__mail__*")
    page.locator("#setting-untrusted-5f-tools-set").click()
    expect(page.locator("#notice")).to_contain_text("untrusted_tools is saved.")
    assert program("settings", "get", "untrusted_tools", "--json").document["value"] == ["mcp__crm__*", "mcp__mail__*"]
    page.get_by_label("path", exact=True).fill("not/absolute")
    page.locator("#setting-path-set").click()
    expect(page.get_by_role("alert")).to_contain_text("must be an absolute path")
    expect(page.get_by_label("path", exact=True)).to_have_value("not/absolute")
    page.get_by_label("enabled").select_option("false")
    page.locator("#setting-enabled-set").click()
    expect(page.locator("#notice")).to_contain_text("enabled is saved.")
    expect(page.get_by_label("path", exact=True)).to_have_value("not/absolute")  # half done, and not lost
    page.get_by_label("Id").fill("billing")
    page.get_by_label("Folder").fill(str(program.home / "billing"))
    page.get_by_role("button", name="Add").click()
    expect(page.get_by_label("privacy")).to_be_visible()
    page.get_by_label("privacy").select_option("strict")
    page.locator("#setting-workspaces-2e-billing-2e-privacy-set").click()
    expect(page.locator("#notice")).to_contain_text("privacy is saved.")
    assert program("settings", "get", "workspaces.billing.privacy").out.strip() == "strict"


def test_a_hub_that_has_ended_is_told(page: Page, hub: RunningHub) -> None:
    hub.process.kill()
    hub.process.wait()
    row_of(page, TABS).get_by_role("button", name="Forget").click()
    expect(page.get_by_role("alert")).to_contain_text("The Hub does not answer.")


# Who gets in


def test_a_second_browser_does_not_get_in_with_the_same_address(page: Page, browser: Browser, hub: RunningHub) -> None:
    other = browser.new_context().new_page()
    answer = other.goto(hub.launch)
    assert answer is not None
    assert answer.status == 401
    answer = other.goto(hub.url("known"))
    assert answer is not None
    assert answer.status == 401
    other.context.close()


def test_the_address_works_when_another_site_links_to_it(browser: Browser, hub: RunningHub) -> None:
    visitor = Visitor(browser, hub)
    page = visitor.page
    link = f'<a href="{hub.launch}">memory</a>'
    page.route("http://chat.example/", lambda route: route.fulfill(body=link, content_type="text/html"))
    page.goto("http://chat.example/")
    page.get_by_text("memory").click()
    page.wait_for_url("**/known")
    expect(row_of(page, TABS)).to_be_visible()
    visitor.context.close()


@pytest.mark.parametrize("site", ["http://evil.example", "http://127.0.0.1:9"])
def test_a_form_on_another_page_changes_nothing_in_a_browser_that_is_signed_in(
    page: Page, visitor: Visitor, program: Program, site: str
) -> None:
    name = row_of(page, TABS).locator("input[name=entry]").get_attribute("value")
    action = visitor.hub.url("entries/forget")
    form = f'<form method="post" action="{action}"><input name="entry" value="{name}"><button>go</button></form>'
    evil = visitor.open_tab()
    evil.route(f"{site}/", lambda route: route.fulfill(body=form, content_type="text/html"))
    evil.goto(f"{site}/")
    evil.get_by_text("go").click()
    expect(evil.get_by_text("memrepo:")).to_be_visible()
    assert TABS in texts(program, "me.md")
