"""Which tool calls read text that nobody vouched for, and which do not."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrepo.policy import untrusted_rows as rows
from memrepo.policy.tool_calls import ToolCall, ToolVerb, find_memory_tool
from memrepo.policy.trusted_places import OUTSIDE
from memrepo.policy.untrusted import find_untrusted_read, matches_name

WORKSPACE = PurePosixPath("/home/me/src/billing")
HOME = PurePosixPath("/home/me")
MEMORY = PurePosixPath("/home/me/CoWork Memory")


def find(call: ToolCall, *listed: str, workspace: PurePosixPath | None = WORKSPACE) -> str | None:
    return find_untrusted_read(call, workspace_folder=workspace, listed=listed, home=HOME, trusted_folders=[MEMORY])


def shell(command: str) -> str | None:
    return find(ToolCall("claude-code", "Bash", ToolVerb.SHELL, command=command))


def read(path: str, *, host: str = "claude-code", workspace: PurePosixPath | None = WORKSPACE) -> str | None:
    return find(ToolCall(host, "Read", ToolVerb.READ, paths=(path,)), workspace=workspace)


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("claude-code", "WebFetch"),
        ("claude-code", "WebSearch"),
        ("claude-code", "ReadMcpResourceTool"),
        ("claude-code", "mcp__playwright__browser_snapshot"),
        ("claude-code", "mcp__plugin_playwright_playwright__browser_navigate"),
        ("claude-code", "mcp__chrome-devtools__take_snapshot"),
        ("claude-code", "mcp__claude-in-chrome__get_page_text"),
        ("claude-code", "mcp__puppeteer__puppeteer_evaluate"),
        ("claude-code", "mcp__fetch__fetch"),
        ("claude-code", "mcp__claude_ai_Gmail__search_threads"),
        ("claude-code", "mcp__slack__conversations_history"),
        ("claude-code", "mcp__imap-mail__read"),
        ("claude-code", "mcp__discord__read_messages"),
        ("claude-code", "mcp__github__get_issue"),
        ("claude-code", "mcp__github__issue_read"),
        ("claude-code", "mcp__atlassian__getJiraIssue"),
        ("gemini", "web_fetch"),
        ("gemini", "google_web_search"),
        ("gemini", "mcp_playwright_browser_snapshot"),
        ("codex", "web_search"),
        ("codex", "web_search_call"),
        ("cursor", "WebSearch"),
        ("cursor", "web_search"),
        ("cursor", "fetch"),
        ("opencode", "webfetch"),
        ("opencode", "websearch"),
        ("opencode", "codesearch"),
        ("vscode", "fetch_webpage"),
        ("vscode", "vscode_fetchWebPage_internal"),
        ("vscode", "github_repo"),
        ("vscode", "mcp_chrome-devtoo_take_snapshot"),
    ],
)
def test_the_readers_that_hosts_and_known_servers_bring_are_untrusted(host: str, name: str) -> None:
    assert find(ToolCall(host, name, ToolVerb.OTHER)) == name
    assert find(ToolCall(host, name, ToolVerb.MCP)) == name


@pytest.mark.parametrize(
    "name",
    ["mcp__crm__tickets", "mcp__github__create_pull_request", "mcp__db__query", "TodoWrite", "Task", "ExitPlanMode"],
)
def test_a_tool_that_nobody_named_is_not(name: str) -> None:
    assert find(ToolCall("claude-code", name, ToolVerb.MCP)) is None


@pytest.mark.parametrize("pattern", ["mcp__crm__tickets", "mcp__crm__*", "*TICKETS", "mcp*crm*s", "*"])
def test_a_tool_that_the_user_listed_is(pattern: str) -> None:
    call = ToolCall("claude-code", "mcp__crm__tickets", ToolVerb.MCP)
    assert find(call, "nothing", pattern) == "mcp__crm__tickets"
    assert find(call, "mcp__crm__", "crm") is None


def test_a_fetch_is_untrusted_whatever_it_is_called() -> None:
    assert find(ToolCall("newhost", "retrieve", ToolVerb.FETCH)) == "retrieve"


def test_an_http_request_is_untrusted_when_something_came_back() -> None:
    assert find(ToolCall("newhost", "http_request", ToolVerb.FETCH)) is None
    assert find(ToolCall("newhost", "http_request", ToolVerb.FETCH, has_body=True)) == "http_request"


def test_our_own_tools_and_resources_are_not_untrusted() -> None:
    own = "mcp__memrepo__memory_recall"
    assert find(ToolCall("claude-code", own, ToolVerb.MCP, memory_tool=find_memory_tool(own)), "*") is None
    for server in ("memrepo", "plugin:memrepo:memrepo"):
        resource = ToolCall("claude-code", "ReadMcpResourceTool", ToolVerb.OTHER, arguments={"server": server})
        assert find(resource) is None
    other = ToolCall("claude-code", "ReadMcpResourceTool", ToolVerb.OTHER, arguments={"server": "memrepo-evil"})
    assert find(other) == "ReadMcpResourceTool"


# Files


@pytest.mark.parametrize(
    "path",
    [
        "a.py",
        "./a/b.py",
        "/home/me/src/billing",
        "/home/me/src/billing/a/../b.py",
        "~/src/billing/a.py",
        "/home/me/CoWork Memory/me.md",
        "/home/me/.claude/skills/memrepo/SKILL.md",
        "~/.claude/plugins/cache/x/y.md",
        "~/.claude/CLAUDE.md",
        "~/.agents/skills/x/SKILL.md",
        "file:///home/me/src/billing/a.py",
    ],
)
def test_files_of_the_workspace_of_memory_and_of_the_host_itself_are_trusted(path: str) -> None:
    assert read(path) is None


@pytest.mark.parametrize(
    "path",
    [
        "../other/a.py",
        "/home/me/src/billing/../other/a.py",
        "/home/me/src/billing-copy/a.py",
        "/tmp/page.html",
        "~/Downloads/letter.pdf",
        "~/.claude/projects/x/tool-results/1.txt",
        "~/.claude/skills/../projects/x.jsonl",
        "~/.codex/skills/x/SKILL.md",
        "/tmp/.claude/skills/x/SKILL.md",
        "file:///etc/passwd",
    ],
)
def test_files_outside_of_them_are_untrusted(path: str) -> None:
    assert read(path) == OUTSIDE
    assert find(ToolCall("x", "Grep", ToolVerb.SEARCH, paths=("a.py", path))) == OUTSIDE


def test_only_reading_counts_and_only_a_known_workspace_is_trusted() -> None:
    for verb in (ToolVerb.WRITE, ToolVerb.DELETE, ToolVerb.RENAME, ToolVerb.LIST, ToolVerb.AGENT):
        assert find(ToolCall("x", "tool", verb, paths=("/etc/passwd",))) is None
    assert read("a.py", workspace=None) == OUTSIDE
    assert read("~/.codex/skills/x/SKILL.md", host="codex", workspace=None) is None
    assert read("https://example.com/a") == "Read"


def test_relative_paths_start_where_the_call_is_made() -> None:
    cat = ToolCall("x", "Bash", ToolVerb.SHELL, command="cat a.txt")
    for call in (cat, ToolCall("x", "Read", ToolVerb.READ, paths=("a.txt",))):
        for place, label in ((PurePosixPath("/srv"), OUTSIDE), (WORKSPACE / "sub", None), (None, None)):
            assert find_untrusted_read(call, workspace_folder=WORKSPACE, listed=(), current_folder=place) == label


# Shell


@pytest.mark.parametrize(
    ("command", "label"),
    [
        ("curl -s https://example.com", "curl"),
        ("cd /x && /usr/bin/curl x | jq .", "curl"),
        ("FOO=1 BAR='a' wget -qO- x", "wget"),
        ("sudo -u me timeout 10 curl x", "curl"),
        ("bash -c 'curl x'", "curl"),
        ('echo "$(curl x)"', "curl"),
        ("echo `curl x`", "curl"),
        ("if curl x; then echo y; fi", "curl"),
        ("ls | xargs -n1 curl", "curl"),
        ("make test\ncurl x", "curl"),
        ("(curl x)", "curl"),
        ("lynx -dump x", "lynx"),
        ("ssh host cat /etc/motd", "ssh"),
        ("CURL.EXE x", "curl"),
        ("pwsh -c 'Invoke-WebRequest x'", "invoke-webrequest"),
        ("pwsh -c \"(New-Object Net.WebClient).DownloadString('https://x')\"", "pwsh"),
        ("Invoke-WebRequest x", "invoke-webrequest"),
        ("gh issue view 12", "gh issue view"),
        ("gh -R owner/repo pr diff 3", "gh pr diff"),
        ("gh api repos/x/y/issues", "gh api"),
        ("glab mr view 3", "glab mr view"),
        ("git clone https://example.com/x.git", "git clone"),
        ("git -C sub clone x", "git clone"),
        ("git fetch origin pull/12/head", "git fetch"),
        ("git pull https://example.com/x.git main", "git pull"),
        ("sudo git clone x", "git clone"),
        ("npm view left-pad readme", "npm view"),
        ("python3 -c 'import urllib.request as u; u.urlopen(\"https://example.com\")'", "python3"),
        ("node -e \"fetch('http://x')\"", "node"),
        ("python3 - <<'EOF'\nimport requests\nrequests.get('https://x')\nEOF", "python3"),
        ("himalaya message read 4", "himalaya"),
        ("gemini -p 'look it up'", "gemini"),
        ("rsync -a host:/x .", "rsync"),
        ("openssl s_client -connect x:443", "openssl s_client"),
        ("exec 3<>/dev/tcp/x/80; cat <&3", "/dev/tcp"),
        ("CMD=curl; $CMD x", "curl"),
        ("dig TXT example.com", "dig"),
        ("docker logs web", "docker logs"),
        ("docker compose logs -f", "docker compose logs"),
        ("kubectl -n x logs pod", "kubectl logs"),
        ("aws s3 cp s3://x/y -", "aws s3 cp"),
        ("find . -exec curl {} ;", "curl"),
        ("ls | xargs -I{} sh -c 'curl {}'", "curl"),
        ('eval "wget x"', "wget"),
        ("cat <<X | sh\ncurl x\nX", "curl"),
        ("cd a;" * 40_000 + "curl x", "unread"),
        ("echo " + "x" * 300_000, "unread"),
    ],
)
def test_commands_that_fetch_are_untrusted(command: str, label: str | None) -> None:
    assert shell(command) == (f"shell: {label}" if label else None)


@pytest.mark.parametrize(
    "command",
    [
        "",
        "ls -la",
        "git status && git log --oneline -3",
        "git pull",
        "git fetch origin main",
        "git commit -m 'clone the curl docs'",
        "git push https://example.com/x.git",
        "gh pr create --fill",
        "gh auth status",
        "make curl",
        "grep -rn curl src",
        "npm test",
        "pip install requests",
        "python3 script.py",
        "openssl version",
        "rsync -a src dst",
        "cat a.py",
        "cat /home/me/src/billing/a.py ~/src/billing/b.py",
        "cd sub && cat ../a.py",
        "sed -n '/from/,/to/p' a.py",
        "grep '/api/users' -r src",
        "cat < /dev/null",
        "echo hello > /tmp/x",
        "head -5 '/home/me/CoWork Memory/me.md'x",
        "ls -la ~/Downloads",
        "find /usr/include -name x.h",
        "mkdir -p /tmp/x && touch /tmp/x/y && rm -rf /tmp/x",
        "cp a.py /tmp/x",
        "cp -t /tmp/x a.py b.py",
        "tar czf /tmp/a.tgz src",
        "zip -r /tmp/a.zip src",
        "gcc -o /tmp/a -I/usr/include a.c",
        "dd if=a of=/tmp/b",
        "git commit -m '/etc/hosts is read now'",
        "gh pr create --title x --body '/api/users is new'",
        "sed -i -e '/from/d' a.py",
        "awk -F / '{print $2}' a.txt",
        "cut -d / -f 2 a.txt",
        "source ~/venv/bin/activate && pytest",
        "docker run --rm -v /srv/x:/app img make",
        "docker exec web ls /app",
        "[ -f /etc/x ] && echo yes",
        'cd "$(git rev-parse --show-toplevel)" && cat a.py',
        "export PATH=/opt/x/bin:$PATH",
        "python3 x.py 2>/dev/null",
        "echo 'curl x'",
    ],
)
def test_commands_that_stay_in_the_workspace_are_not(command: str) -> None:
    assert shell(command) is None


@pytest.mark.parametrize(
    "command",
    [
        "cat /etc/hosts",
        "cat ~/Downloads/a.txt",
        "cat $HOME/Downloads/a.txt",
        "cat ${HOME}/Downloads/a.txt",
        "cat '../other/a.txt'",
        "sudo cat /var/log/syslog",
        "bash -c 'cat /etc/hosts'",
        "cd .. && cat other/../../a.txt",
        "cd /tmp; cat ../etc/hosts",
        "cd /tmp && cat page.html",
        "grep x /var/log/syslog",
        "wc -l a; tail -5 /tmp/page.html",
        "jq . < /tmp/answer.json",
        # Any program that may show a file
        "python3 -m json.tool ~/Downloads/a.json",
        "python3 /tmp/x.py",
        "zcat ~/Downloads/a.gz",
        "unzip -p ~/Downloads/a.zip",
        "tar xOf ~/Downloads/a.tar",
        "perl -ne print ~/Downloads/a",
        "sed -n 5p ~/Downloads/a",
        "awk '{print}' ~/Downloads/a",
        "sqlite3 ~/Downloads/a.db .dump",
        "column -t ~/Downloads/a",
        "fold ~/Downloads/a",
        "rev ~/Downloads/a",
        "paste ~/Downloads/a b",
        "batcat '/home/me/Down loads/a'",
        "some-new-viewer ~/Downloads/a",
        "dd if=/home/me/Downloads/a",
        "git -C ~/other log",
        "git apply ~/Downloads/x.patch",
        # Files that others name
        "find ~/Downloads -type f -exec cat {} +",
        "find ~/Downloads -name '*.md' | xargs cat",
        'for f in ~/Downloads/*; do cat "$f"; done',
        "cat $(ls -d ~/Downloads/*)",
        'ls ~/Downloads/* | while read -r f; do cat "$f"; done',
        # Reads without a program of their own
        'while read -r line; do echo "$line"; done < ~/Downloads/a',
        "x=$(<~/Downloads/a)",
        "mapfile -t lines < ~/Downloads/a",
        # From where the command went
        "pushd ~/Downloads; cat a",
        "cd ~/Downloads && column a",
        "cd ~/other && python3 tool.py",
        "F=~/Downloads/a; cat $F",
        "cat ~/Down*/a",
        # Brought into the workspace, where it would be trusted
        "cp ~/Downloads/a .",
        "cp -t . ~/Downloads/a",
        "mv ~/Downloads/a .",
        "ln -s ~/Downloads/a a",
        "rsync -a ~/Downloads/ here/",
        "tar xf ~/Downloads/a.tar",
        "unzip ~/Downloads/a.zip",
        "cat 'unclosed ~/Downloads/a",
    ],
)
def test_commands_that_read_files_outside_are_untrusted(command: str) -> None:
    assert shell(command) == OUTSIDE


# The rules of the tables


def test_every_row_has_a_source_and_a_pattern_that_can_match() -> None:
    sources = [row.source for row in rows.TOOLS] + [row.source for row in rows.PROGRAMS]
    assert all(one.startswith("https://") for one in (*sources, *(row.source for row in rows.OWN_FOLDERS)))
    for tool in rows.TOOLS:
        assert tool.pattern.strip("*")
        assert set(tool.pattern) <= set("abcdefghijklmnopqrstuvwxyz0123456789_*")
    hosts = {"", "claude-code", "codex", "gemini", "cursor", "opencode", "vscode"}
    assert {row.host for row in rows.TOOLS} | {row.host for row in rows.OWN_FOLDERS} <= hosts


def test_no_tool_row_means_one_of_our_own_tools() -> None:
    for tool in ("memory_remember", "memory_recall", "memory_forget", "memory_read", "memory_list", "memory_grep"):
        for name in (f"mcp__memrepo__{tool}", f"mcp_memrepo_{tool}", f"memrepo.{tool}"):
            for host in ("claude-code", "codex", "gemini", "cursor", "opencode", "vscode"):
                assert find(ToolCall(host, name, ToolVerb.MCP)) is None


@given(st.text("ab_*", max_size=8), st.text("ab_", max_size=8))
def test_a_pattern_means_what_the_shell_means_by_it(pattern: str, name: str) -> None:
    from fnmatch import fnmatchcase

    assert matches_name(pattern, name) == fnmatchcase(name, pattern)


@given(st.text(max_size=200))
def test_any_command_gets_an_answer(command: str) -> None:
    answer = shell(command)
    assert answer is None or answer == OUTSIDE or answer.startswith("shell: ")


@given(st.text(max_size=60))
def test_any_path_and_any_name_get_an_answer(text: str) -> None:
    assert read(text) in {None, OUTSIDE, "Read"}
    assert find(ToolCall("x", text, ToolVerb.MCP), text) in {None, text}
