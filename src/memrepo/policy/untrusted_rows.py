"""The tools and programs that bring in text of people whom nobody vouched for: data, a source per row.

A pattern is looked for in a tool's name written in lower case with `_` for everything that is no letter or digit; `*`
stands for anything. Read in December 2026; what a host renames stays unknown until a row says so.
"""

from __future__ import annotations

from typing import NamedTuple


class ToolRow(NamedTuple):
    """Tools that read untrusted text. `host` "" means every host; `only_with_body`: not when nothing came back."""

    host: str
    pattern: str
    what: str
    source: str
    only_with_body: bool = False


class ProgramRow(NamedTuple):
    """A program that reads untrusted text, with the first words it does so with; none means always."""

    program: str
    words: tuple[str, ...]
    what: str
    source: str


class FolderRow(NamedTuple):
    """A folder below the home folder that holds a host's own instructions: files there are not foreign to it."""

    host: str
    folder: str
    source: str


_CLAUDE = "https://code.claude.com/docs/en/tools-reference"
_GEMINI = "https://geminicli.com/docs/reference/tools/"
_CODEX = "https://developers.openai.com/codex/config-reference"
_CURSOR = "https://cursor.com/docs/agent/tools"
_OPENCODE = "https://opencode.ai/docs/tools/"
_VSCODE = "https://code.visualstudio.com/docs/copilot/reference/copilot-vscode-features"
_PLAYWRIGHT = "https://github.com/microsoft/playwright-mcp"
_DEVTOOLS = "https://github.com/ChromeDevTools/chrome-devtools-mcp"
_SERVERS = "https://github.com/modelcontextprotocol/servers"
_ARCHIVED = "https://github.com/modelcontextprotocol/servers-archived"
_GITHUB = "https://github.com/github/github-mcp-server"
_ATLASSIAN = "https://github.com/atlassian/atlassian-mcp-server"

TOOLS = (
    # What hosts bring themselves
    ToolRow("claude-code", "webfetch", "a web page", _CLAUDE),
    ToolRow("claude-code", "websearch", "web search", _CLAUDE),
    ToolRow("claude-code", "readmcpresource*", "another server's resource", _CLAUDE),
    ToolRow("gemini", "web_fetch", "a web page", _GEMINI),
    ToolRow("gemini", "google_web_search", "web search", _GEMINI),
    ToolRow("codex", "web_search*", "web search", _CODEX),
    ToolRow("codex", "web_run", "a web page", _CODEX),
    ToolRow("codex", "read_mcp_resource", "another server's resource", _CODEX),
    ToolRow("cursor", "web*", "web search", _CURSOR),
    ToolRow("cursor", "fetch*", "a web page", _CURSOR),
    ToolRow("cursor", "browser*", "a browser", _CURSOR),
    ToolRow("opencode", "webfetch", "a web page", _OPENCODE),
    ToolRow("opencode", "websearch", "web search", _OPENCODE),
    ToolRow("opencode", "codesearch", "code search on the web", _OPENCODE),
    ToolRow("vscode", "*fetch*webpage*", "a web page", _VSCODE),
    ToolRow("vscode", "fetch", "a web page", _VSCODE),
    ToolRow("vscode", "*githubrepo", "code of another repository", _VSCODE),
    ToolRow("vscode", "*github_repo", "code of another repository", _VSCODE),
    ToolRow("vscode", "open_simple_browser", "a browser", _VSCODE),
    # Any host: the same names come back in others, and as tools of a server
    ToolRow("", "*web_fetch*", "a web page", _GEMINI),
    ToolRow("", "*webfetch*", "a web page", _CLAUDE),
    ToolRow("", "*web_search*", "web search", _GEMINI),
    ToolRow("", "*websearch*", "web search", _CLAUDE),
    ToolRow("", "*http_request*", "an HTTP answer", "https://httpwg.org/specs/rfc9110.html", only_with_body=True),
    ToolRow("", "mcp_fetch_*", "a web page", _SERVERS),
    ToolRow("", "fetch_fetch*", "a web page", _SERVERS),
    ToolRow("", "*fetch_url*", "a web page", _SERVERS),
    # Browsers
    ToolRow("", "*browser_*", "a browser", _PLAYWRIGHT),
    ToolRow("", "*playwright*", "a browser", _PLAYWRIGHT),
    ToolRow("", "*chrome_devtoo*", "a browser", _DEVTOOLS),
    ToolRow("", "*claude_in_chrome*", "a browser", "https://code.claude.com/docs/en/chrome"),
    ToolRow("", "*puppeteer*", "a browser", _ARCHIVED),
    ToolRow("", "*selenium*", "a browser", "https://www.selenium.dev/documentation/webdriver/"),
    ToolRow("", "*browserbase*", "a browser", "https://github.com/browserbase/mcp-server-browserbase"),
    # Search and scraping services
    ToolRow("", "*brave*search*", "web search", "https://github.com/brave/brave-search-mcp-server"),
    ToolRow("", "*tavily*", "web search", "https://github.com/tavily-ai/tavily-mcp"),
    ToolRow("", "*_exa_*", "web search", "https://github.com/exa-labs/exa-mcp-server"),
    ToolRow("", "exa_*", "web search", "https://github.com/exa-labs/exa-mcp-server"),
    ToolRow("", "*perplexity*", "web search", "https://github.com/perplexityai/modelcontextprotocol"),
    ToolRow("", "*firecrawl*", "a web page", "https://github.com/firecrawl/firecrawl-mcp-server"),
    ToolRow("", "*scrape*", "a web page", "https://github.com/firecrawl/firecrawl-mcp-server"),
    ToolRow("", "*context7*", "documentation by anyone", "https://github.com/upstash/context7"),
    ToolRow("", "*deepwiki*", "documentation by anyone", "https://docs.devin.ai/work-with-devin/deepwiki-mcp"),
    # Mail, chat and channels
    ToolRow("", "*gmail*", "mail", "https://developers.google.com/workspace/gmail/api/guides"),
    ToolRow("", "*imap*", "mail", "https://www.rfc-editor.org/rfc/rfc9051"),
    ToolRow("", "*outlook*", "mail", "https://learn.microsoft.com/graph/outlook-mail-concept-overview"),
    ToolRow("", "*email*", "mail", "https://www.rfc-editor.org/rfc/rfc5322"),
    ToolRow("", "*mailbox*", "mail", "https://www.rfc-editor.org/rfc/rfc5322"),
    ToolRow("", "*slack*", "chat", "https://github.com/korotovsky/slack-mcp-server"),
    ToolRow("", "*conversations_history*", "chat", "https://github.com/korotovsky/slack-mcp-server"),
    ToolRow("", "*conversations_replies*", "chat", "https://github.com/korotovsky/slack-mcp-server"),
    ToolRow("", "*channel_history*", "chat", _ARCHIVED),
    ToolRow("", "*discord*", "chat", "https://docs.discord.com/developers/resources/message"),
    ToolRow("", "*telegram*", "chat", "https://core.telegram.org/bots/api"),
    ToolRow("", "*whatsapp*", "chat", "https://developers.facebook.com/docs/whatsapp"),
    ToolRow("", "*msteams*", "chat", "https://learn.microsoft.com/graph/teams-concept-overview"),
    # Trackers and shared pages, where strangers write
    ToolRow("", "*github*_get_*", "a tracker", _GITHUB),
    ToolRow("", "*github*_list_*", "a tracker", _GITHUB),
    ToolRow("", "*github*_search_*", "a tracker", _GITHUB),
    ToolRow("", "*issue_read", "a tracker", _GITHUB),
    ToolRow("", "*pull_request_read", "a tracker", _GITHUB),
    ToolRow(
        "", "*gitlab*_get_*", "a tracker", "https://docs.gitlab.com/user/gitlab_duo/model_context_protocol/mcp_server/"
    ),
    ToolRow(
        "", "*gitlab*_list_*", "a tracker", "https://docs.gitlab.com/user/gitlab_duo/model_context_protocol/mcp_server/"
    ),
    ToolRow(
        "", "*gitlab*search*", "a tracker", "https://docs.gitlab.com/user/gitlab_duo/model_context_protocol/mcp_server/"
    ),
    ToolRow("", "*atlassian*", "a tracker", _ATLASSIAN),
    ToolRow("", "*jira*", "a tracker", _ATLASSIAN),
    ToolRow("", "*confluence*", "a shared page", _ATLASSIAN),
    ToolRow("", "mcp_linear_*", "a tracker", "https://linear.app/docs/mcp"),
    ToolRow("", "*notion*", "a shared page", "https://developers.notion.com/docs/mcp"),
)

_CURL = "https://curl.se/docs/manpage.html"
_GH = "https://cli.github.com/manual/"
_GLAB = "https://docs.gitlab.com/cli/"
_GIT = "https://git-scm.com/docs"
_OPENSSH = "https://www.openssh.org/manual.html"
_NPM = "https://docs.npmjs.com/cli/commands"
_POWERSHELL = "https://learn.microsoft.com/powershell/module/microsoft.powershell.utility/"


def _rows(programs: str, what: str, source: str, *uses: str) -> tuple[ProgramRow, ...]:
    return tuple(
        ProgramRow(program, tuple(use.split()), what, source) for program in programs.split() for use in uses or ("",)
    )


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


PROGRAMS = (
    *_rows("curl wget wget2 http https xh aria2c axel lftp ftp", "an address", _CURL),
    *_rows("lynx links links2 elinks w3m browsh", "a web page", "https://lynx.invisible-island.net/"),
    *_rows("agent-browser", "a browser", "https://agent-browser.dev/"),
    *_rows("playwright-cli", "a browser", "https://playwright.dev/"),
    *_rows("ssh scp sftp", "another machine", _OPENSSH),
    *_rows("nc ncat netcat telnet socat", "an address", "https://nmap.org/ncat/"),
    *_rows("whois", "an address", "https://www.rfc-editor.org/rfc/rfc3912"),
    *_rows("yt-dlp youtube-dl", "an address", "https://github.com/yt-dlp/yt-dlp"),
    *_rows("invoke-webrequest invoke-restmethod iwr irm", "an address", _POWERSHELL),
    *_rows("openssl", "an address", "https://docs.openssl.org/master/man1/", "s_client"),
    *_rows("mail mailx mutt neomutt alpine notmuch mu himalaya aerc", "mail", "https://notmuchmail.org/manpages/"),
    *_rows(
        "gh", "a tracker", _GH, "api", "search", "discussion", "gist clone", "gist list", "gist view", "issue list",
        "issue status", "issue view", "pr checkout", "pr checks", "pr diff", "pr list", "pr status", "pr view",
        "project", "release download", "release list", "release view", "repo clone", "repo fork", "repo list",
        "repo view", "run download", "run list", "run view", "run watch", "status",
    ),
    *_rows(
        "glab", "a tracker", _GLAB, "api", "ci trace", "ci view", "issue list", "issue view", "mr checkout", "mr diff",
        "mr list", "mr view", "release view", "repo clone", "repo view", "snippet",
    ),
    *_rows("git", "a repository", _GIT, "clone", "submodule add"),
    *_rows("svn", "a repository", "https://svnbook.red-bean.com/", "cat", "checkout", "co", "export", "log"),
    *_rows("hg", "a repository", "https://www.mercurial-scm.org/help", "clone"),
    *_rows("npm pnpm yarn bun", "a package's page", _NPM, "view", "info", "show", "search"),
    *_rows("cargo", "a package's page", "https://doc.rust-lang.org/cargo/commands/", "search", "info"),
    *_rows("gem", "a package's page", "https://guides.rubygems.org/command-reference/", "search", "info"),
    *_rows("dig nslookup host drill", "an address", "https://bind9.readthedocs.io/en/latest/manpages.html"),
    *_rows(
        "docker podman nerdctl", "the words of another program", "https://docs.docker.com/reference/cli/docker/",
        "logs", "cp", "compose logs", "container logs", "service logs", "attach",
    ),
    *_rows(
        "kubectl oc", "the words of another program", "https://kubernetes.io/docs/reference/kubectl/",
        "logs", "cp", "attach",
    ),
    *_rows("journalctl", "the words of other programs", "https://www.freedesktop.org/software/systemd/man/latest/"),
    *_rows(
        "aws", "a store of files", "https://docs.aws.amazon.com/cli/",
        "s3 cp", "s3 sync", "s3 mv", "s3api get-object", "logs",
    ),
    *_rows(
        "gsutil", "a store of files", "https://docs.cloud.google.com/storage/docs/gsutil", "cat", "cp", "mv", "rsync"
    ),
    *_rows("gcloud", "a store of files", "https://docs.cloud.google.com/sdk/gcloud/reference/", "storage", "logging"),
    *_rows("az", "a store of files", "https://learn.microsoft.com/cli/azure/", "storage"),
    *_rows(
        "rclone", "a store of files", "https://rclone.org/commands/",
        "cat", "copy", "copyto", "copyurl", "move", "sync",
    ),
    # Whatever these agents read, this session cannot know.
    *_rows("claude codex gemini opencode cursor-agent copilot", "another agent", "https://code.claude.com/docs/en/headless"),
)  # fmt: skip
"""Downloading programs that show no text (`pip install`) and a fetch from the workspace's own remote are left out: what
they bring is read as a file, and a file of the workspace is trusted."""

WRAPPERS = _words(
    "sudo doas env xargs nohup nice ionice setsid stdbuf timeout time watch exec command builtin eval parallel "
    "bash sh zsh dash ksh fish cmd pwsh powershell busybox unbuffer script find fd"
)
"""Programs that start another one, which may stand anywhere behind them."""

KEYWORDS = _words("if then else elif do while until for case ! { time")

INTERPRETERS = _words("python python3 python2 node deno bun ruby perl php pwsh powershell rscript lua julia uv npx")
"""Programs whose text can fetch: with an address anywhere in the command, they are taken to."""

READERS = _words(
    "cat bat batcat head tail less more nl tac strings xxd od hexdump jq yq pdftotext pandoc diff cut sort uniq comm "
    "column fold fmt rev paste join tr zcat bzcat xzcat zless base64 iconv expand pr view vim nvim nano emacs"
)
"""Programs all of whose words may be files that they show, also in a folder that is not the workspace."""
PATTERN_READERS = _words("grep egrep fgrep zgrep rg ag ack sed awk gawk mawk perl ruby")
"""Like the readers, but their first word is a pattern or a program."""

QUIET = _words(
    "ls cd pushd popd dirs mkdir rmdir rm unlink shred touch truncate chmod chown chgrp pwd test [ [[ which type hash "
    "kill pkill killall export unset set source . alias du df stat file basename dirname realpath readlink true false "
    ": exit return wait sleep date tee echo printf find fd fdfind tree locate mktemp umask ulimit id whoami hostname "
    "uname nproc free uptime ps top jobs bg fg open xdg-open code lsof read mapfile readarray declare local readonly "
    "typeset shift trap"
)
"""Programs that show nothing of what is in the files they are given; names of files are not what is in them."""
FOREIGN_PATHS = _words("docker podman nerdctl kubectl oc adb")
"""Programs whose words are mostly paths of another machine."""
COPIERS = _words("cp mv install ln rsync ditto")
"""Programs whose last word is where to: what they bring into the workspace will be trusted there."""
PATTERN_OPTIONS = frozenset({"-e", "--regexp", "--expression", "-A", "-B", "-C", "-m", "-F", "-v"})
"""Options of theirs whose next word is a pattern, a number or a value."""
OUTPUT_OPTIONS = frozenset({"-o", "-O", "--output", "--out", "--outfile", "--output-dir", "--outdir", "--prefix"})
"""Options whose next word is a file that is written."""

OPTIONS_WITH_VALUE = {
    "git": frozenset({"-C", "-c", "--git-dir", "--work-tree"}),
    "gh": frozenset({"-R", "--repo", "--hostname"}),
    "glab": frozenset({"-R", "--repo"}),
    "docker": frozenset({"-f", "--file", "-p", "--project-name", "-H", "--context"}),
    "kubectl": frozenset({"-n", "--namespace", "-c", "--context"}),
    "aws": frozenset({"--profile", "--region", "--endpoint-url"}),
}

OWN_FOLDERS = (
    *(
        FolderRow("claude-code", f".claude/{name}", "https://code.claude.com/docs/en/settings")
        for name in ("skills", "plugins", "agents", "commands", "rules", "output-styles", "CLAUDE.md")
    ),
    *(
        FolderRow("codex", f".codex/{name}", "https://developers.openai.com/codex/skills")
        for name in ("skills", "prompts", "plugins", "AGENTS.md")
    ),
    *(
        FolderRow("gemini", f".gemini/{name}", "https://geminicli.com/docs/extensions/")
        for name in ("extensions", "skills", "commands", "agents", "GEMINI.md")
    ),
    *(
        FolderRow("cursor", f".cursor/{name}", "https://cursor.com/docs/context/skills")
        for name in ("skills", "rules", "plugins", "commands", "agents", "skills-cursor")
    ),
    FolderRow("opencode", ".config/opencode", "https://opencode.ai/docs/config/"),
    FolderRow("vscode", ".copilot", "https://code.visualstudio.com/docs/copilot/customization/agent-skills"),
    FolderRow("", ".agents/skills", "https://agentskills.io/specification"),
)
