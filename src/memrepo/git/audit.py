"""Which git settings a memory repo may carry, as data and pure functions.

Owns the allow-list of `.git/config` and of `.git/info/attributes`, and the words for a refusal. Knows no disk and no
git: it gets what `git config --list -z` printed, and the bytes of the attributes file.

The rule: a key that is not in the list is refused, also a harmless one that nobody thought of. `DANGERS` only says why
in better words. An allowed key still needs a value of its shape. The attributes files of the work tree
(`.gitattributes`) are not audited: they can only name drivers, and what a driver runs stands in the configuration.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

# Shapes of values; each must match the whole value.
BOOL = r"(?i:true|false|yes|no|on|off|0|1|)"
OFF = r"(?i:false|no|off|0)"
NUMBER = r"(?i:-?\d{1,12}[kmg]?)"
BOOL_OR_NUMBER = rf"(?:{BOOL}|{NUMBER})"
WORD = r"[\w.+-]{0,64}"
TEXT = r"[^\x00-\x08\x0b-\x1f\x7f]{0,1000}"
# No `helper::address` (runs git-remote-helper), no leading dash (read as an option), no control characters.
REMOTE_URL = r"(?!-)(?![\w+.-]*::)[^\x00-\x1f\x7f]{1,1000}"
REMOTE_NAME = REMOTE_URL
REFSPEC = r"[+^]?(?:[\w][\w./*@+-]*)?(?::[\w][\w./*@+-]*)?"
REF = r"(?:refs/)?[\w][\w./@+#-]*"


class Danger(StrEnum):
    """What a refused setting could do."""

    RUNS = "runs a program"
    REDIRECTS = "redirects git to another place"
    HIDES = "hides changes or keeps old texts"
    UNKNOWN = "is not known to be harmless"
    UNREADABLE = "cannot be read for certain"


@dataclass(frozen=True, slots=True)
class Finding:
    """One setting that is refused: its key as git writes it, what it could do, and why."""

    key: str
    danger: Danger
    why: str


@dataclass(frozen=True, slots=True)
class Allowed:
    """Keys that may stand in a memory repo's configuration, the shape of their values, and why they are harmless.

    `*` stands for a whole subsection (`branch.*.merge`) or, at the end, for any key of a section.
    """

    keys: str
    value: str
    reason: str
    source: str = "git-config(1)"


@dataclass(frozen=True, slots=True)
class Dangerous:
    """Keys that are refused in words of their own."""

    keys: str
    danger: Danger
    why: str
    source: str = "git-config(1)"


ALLOWED: tuple[Allowed, ...] = (
    Allowed("core.repositoryformatversion", "0|1", "every repo has it"),
    Allowed("core.bare", OFF, "a memory repo has a work tree"),
    Allowed("core.filemode core.symlinks core.ignorecase core.precomposeunicode", BOOL, "what the disk can do"),
    Allowed("core.logallrefupdates", "(?i:true|false|always)", "whether branches keep a reflog"),
    Allowed("core.trustctime core.preloadindex core.untrackedcache core.splitindex core.longpaths", BOOL, "speed"),
    Allowed("core.checkstat core.hidedotfiles", WORD, "how files are compared and shown"),
    Allowed("core.compression core.loosecompression core.bigfilethreshold core.packedgitlimit", NUMBER, "speed"),
    Allowed("core.packedgitwindowsize core.deltabasecachelimit core.fscache core.commitgraph", BOOL_OR_NUMBER, "speed"),
    Allowed("core.multipackindex core.warnambiguousrefs core.sharedrepository", WORD, "speed and file modes"),
    Allowed("core.autocrlf core.safecrlf core.quotepath core.abbrev core.fsync core.fsyncmethod", TEXT, "overridden"),
    Allowed("core.fsyncobjectfiles core.protecthfs core.protectntfs", BOOL, "overridden"),
    Allowed("core.attributesfile core.excludesfile", TEXT, "overridden; names a file, not a program"),
    Allowed("core.fsmonitor", OFF, "off is off"),
    Allowed("core.eol core.whitespace core.commentchar", TEXT, "newlines at checkout, marks in diffs and editors"),
    Allowed("extensions.objectformat", "sha1", "commit ids have 40 digits here"),
    Allowed("extensions.refstorage", "files", "refs are files here"),
    Allowed("extensions.worktreeconfig extensions.relativeworktrees", BOOL, "the second file is audited too"),
    Allowed("user.name user.email user.signingkey", TEXT, "plain texts; memrepo's own commits use neither"),
    Allowed("user.useconfigonly", BOOL, "no effect, the identity is given"),
    Allowed("author.name author.email committer.name committer.email", TEXT, "plain texts"),
    Allowed("init.defaultbranch", REF, "a name"),
    Allowed("branch.*.remote branch.*.pushremote remote.pushdefault", REMOTE_NAME, "no verb uses an implied remote"),
    Allowed("branch.*.merge branch.*.vscode-merge-base", REF, "a name"),
    Allowed("branch.*.rebase pull.rebase", WORD, "no verb pulls by it"),
    Allowed("branch.*.description branch.*.github-pr-owner-number", TEXT, "plain text"),
    Allowed("branch.autosetupmerge branch.autosetuprebase branch.sort", TEXT, "for new branches by hand"),
    Allowed("remote.*.url remote.*.pushurl", REMOTE_URL, "an address without a helper program"),
    Allowed("remote.*.fetch remote.*.push", REFSPEC, "which branches are meant"),
    Allowed("remote.*.tagopt", "--tags|--no-tags", "which tags are fetched"),
    Allowed("remote.*.prune remote.*.prunetags remote.*.skipdefaultupdate remote.*.skipfetchall", BOOL, "by hand only"),
    Allowed("remote.*.gh-resolved", TEXT, "a note of GitHub's command line", "gh manual"),
    Allowed("push.default push.followtags push.autosetupremote push.useforceifincludes", WORD, "by hand only"),
    Allowed("pull.ff pull.octopus pull.twohead", WORD, "by hand only"),
    Allowed("fetch.prune fetch.prunetags fetch.all fetch.parallel fetch.writecommitgraph", BOOL_OR_NUMBER, "by hand"),
    Allowed("fetch.fsckobjects transfer.fsckobjects receive.fsckobjects", BOOL, "more checks"),
    Allowed("receive.denycurrentbranch receive.denynonfastforwards receive.denydeletes", WORD, "for others who push"),
    Allowed("commit.gpgsign tag.gpgsign tag.forcesignannotated", BOOL, "overridden"),
    Allowed("commit.verbose commit.status", BOOL_OR_NUMBER, "no verb opens an editor"),
    Allowed("commit.cleanup tag.sort merge.tool diff.tool", TEXT, "overridden, or for tools run by hand"),
    Allowed(
        "merge.conflictstyle merge.ff merge.stat merge.log merge.renames merge.verbosity merge.autostash", WORD, "style"
    ),
    Allowed("merge.renamelimit diff.renamelimit diff.context diff.interhunkcontext", NUMBER, "style"),
    Allowed("merge.directoryrenames diff.renames diff.algorithm diff.colormoved diff.indentheuristic", WORD, "style"),
    Allowed("diff.mnemonicprefix diff.noprefix diff.wserrorhighlight diff.submodule diff.wordregex", TEXT, "style"),
    Allowed("rebase.autostash rebase.autosquash rebase.updaterefs rebase.stat rebase.backend", WORD, "by hand only"),
    Allowed("rerere.enabled rerere.autoupdate", BOOL, "overridden"),
    Allowed("stash.showpatch stash.showstat stash.showincludeuntracked", BOOL, "by hand only"),
    Allowed("status.short status.branch status.relativepaths status.showstash status.renames", BOOL, "style"),
    Allowed("status.showuntrackedfiles", WORD, "overridden: every status lists them all"),
    Allowed("log.date log.decorate log.abbrevcommit format.pretty blame.date", TEXT, "style"),
    Allowed("color.* column.* advice.*", TEXT, "style"),
    Allowed("color.*.*", TEXT, "style"),
    Allowed("gui.*", TEXT, "read by git-gui alone", "git-gui(1)"),
    Allowed("i18n.commitencoding i18n.logoutputencoding", "(?i:utf-?8)", "messages are UTF-8"),
    Allowed(
        "index.version index.threads index.recordendofindexentries index.recordoffsettable", BOOL_OR_NUMBER, "speed"
    ),
    Allowed("index.skiphash feature.manyfiles feature.experimental", BOOL, "speed"),
    Allowed("gc.auto gc.autopacklimit gc.autodetach gc.bigpackthreshold", BOOL_OR_NUMBER, "overridden"),
    Allowed("gc.aggressivedepth gc.aggressivewindow gc.cruftpacks gc.writecommitgraph", BOOL_OR_NUMBER, "speed"),
    Allowed("gc.packrefs gc.pruneexpire gc.worktreepruneexpire gc.logexpiry", TEXT, "compaction says its own times"),
    Allowed("gc.reflogexpire gc.reflogexpireunreachable", TEXT, "compaction says its own times"),
    Allowed("gc.*.reflogexpire gc.*.reflogexpireunreachable", TEXT, "compaction says its own times"),
    Allowed("pack.window pack.windowmemory pack.depth pack.threads pack.compression", NUMBER, "speed"),
    Allowed("pack.packsizelimit pack.indexversion pack.deltacachesize pack.deltacachelimit", NUMBER, "speed"),
    Allowed("pack.usebitmaps pack.writebitmaps pack.usesparse pack.writereverseindex", BOOL, "speed"),
    Allowed("repack.usedeltabaseoffset repack.writebitmaps repack.updateserverinfo", BOOL, "speed"),
    Allowed("maintenance.auto maintenance.strategy", WORD, "overridden, or for a schedule the user set up"),
    Allowed("checkout.workers checkout.thresholdforparallelism checkout.guess", BOOL_OR_NUMBER, "speed"),
    Allowed("checkout.defaultremote worktree.guessremote worktree.userelativepaths", WORD, "by hand only"),
    Allowed("protocol.version", "0|1|2", "the wire format"),
    Allowed("http.postbuffer http.lowspeedlimit http.lowspeedtime http.maxrequests", NUMBER, "speed"),
)

_R, _D, _H = Danger.RUNS, Danger.REDIRECTS, Danger.HIDES
DANGERS: tuple[Dangerous, ...] = (
    Dangerous("core.hookspath", _R, "hooks are programs", "githooks(5)"),
    Dangerous("core.fsmonitor", _R, "every status would run it or start a daemon"),
    Dangerous("core.sshcommand core.gitproxy core.askpass core.alternaterefscommand", _R, "the network would run it"),
    Dangerous("core.pager core.editor sequence.editor pager.*", _R, "names a program"),
    Dangerous("filter.*.*", _R, "every add or checkout would run it", "gitattributes(5)"),
    Dangerous("merge.*.*", _R, "every merge would run it", "gitattributes(5)"),
    Dangerous("diff.external diff.*.*", _R, "every diff would run it", "gitattributes(5)"),
    Dangerous("alias.*", _R, "an alias may be a shell command"),
    Dangerous("alias.*.*", _R, "an alias may be a shell command"),
    Dangerous("credential.*", _R, "a helper is a program that gets passwords", "gitcredentials(7)"),
    Dangerous("credential.*.*", _R, "a helper is a program that gets passwords", "gitcredentials(7)"),
    Dangerous("gpg.* gpg.*.*", _R, "signing and checking would run it"),
    Dangerous("gc.recentobjectshook uploadpack.packobjectshook", _R, "clean-up or serving would run it"),
    Dangerous("trailer.*.command trailer.*.cmd interactive.difffilter web.browser", _R, "names a program"),
    Dangerous("browser.*.* man.*.* mergetool.*.* difftool.*.* guitool.*.* sendemail.*", _R, "names a program"),
    Dangerous("submodule.* submodule.*.*", _R, "git would run inside another repo, under that repo's configuration"),
    Dangerous("branch.*.mergeoptions", _R, "may name a merge strategy, which is a program"),
    Dangerous("remote.*.vcs remote.*.uploadpack remote.*.receivepack", _R, "names a program"),
    Dangerous("init.templatedir", _D, "hooks and settings would come from there"),
    Dangerous("include.path includeif.*.path", _D, "settings would come from another file"),
    Dangerous("url.*.*", _D, "every address would be rewritten"),
    Dangerous(
        "remote.*.proxy remote.*.proxyauthmethod http.* http.*.*", _D, "traffic would go another way, or lose a check"
    ),
    Dangerous("protocol.* protocol.*.*", _D, "would allow more ways to other repos"),
    Dangerous("ssh.variant", _D, "changes how ssh is called"),
    Dangerous("core.worktree", _D, "the work tree would be another folder"),
    Dangerous("core.bare", _D, "the repo would have no work tree"),
    Dangerous(
        "extensions.partialclone remote.*.promisor remote.*.partialclonefilter", _D, "local commands would fetch"
    ),
    Dangerous(
        "extensions.objectformat extensions.refstorage", Danger.UNKNOWN, "memrepo reads SHA-1 repos with refs as files"
    ),
    Dangerous("extensions.preciousobjects", _H, "forgotten texts could not be removed"),
    Dangerous("core.sparsecheckout core.sparsecheckoutcone index.sparse", _H, "files would be missing without a sign"),
    Dangerous(
        "remote.*.url remote.*.pushurl branch.*.remote branch.*.pushremote", _R, "`name::address` runs git-remote-name"
    ),
)

# name -> shape of its value ("" = set, "-" = unset, otherwise what follows `=`)
ALLOWED_ATTRIBUTES: tuple[Allowed, ...] = (
    Allowed("merge", "|-|text|union|binary", "built-in merges run no program", "gitattributes(5)"),
    Allowed("text", "|-|auto", "newlines only", "gitattributes(5)"),
    Allowed("eol", "lf|crlf", "newlines only", "gitattributes(5)"),
    Allowed("crlf", "|-|input", "the old name of text", "gitattributes(5)"),
    Allowed("diff", "|-", "a driver's name could run a program", "gitattributes(5)"),
    Allowed("binary", "|-", "the built-in macro for -diff -merge -text", "gitattributes(5)"),
    Allowed("filter", "-", "unset is off", "gitattributes(5)"),
    Allowed("whitespace delta conflict-marker-size encoding", ".*", "style and speed", "gitattributes(5)"),
    Allowed("export-ignore export-subst", "|-", "for git archive only", "gitattributes(5)"),
    Allowed(
        "linguist-vendored linguist-generated linguist-documentation linguist-language", ".*", "git does not know it"
    ),
)


_ALLOWED_KEYS = {key: row for row in ALLOWED for key in row.keys.split()}
_DANGEROUS_KEYS = {key: row for row in DANGERS for key in row.keys.split()}
_ALLOWED_ATTRIBUTES = {name: row for row in ALLOWED_ATTRIBUTES for name in row.keys.split()}
_DRIVER_ATTRIBUTES = ("filter", "diff", "merge")


def parse_config_list(data: bytes) -> tuple[tuple[str, str | None], ...]:
    """Reads what `git config --list -z` printed; a key without `=` has the value None."""
    pairs: list[tuple[str, str | None]] = []
    for record in data.decode("utf-8", "surrogateescape").split("\0"):
        if record:
            key, newline, value = record.partition("\n")
            pairs.append((key, value if newline else None))
    return tuple(pairs)


def audit_config(pairs: tuple[tuple[str, str | None], ...]) -> tuple[Finding, ...]:
    """Names every setting that is refused, in the order of the file; () when all are allowed."""
    return tuple(finding for key, value in pairs if (finding := _find_fault(key, value)) is not None)


def _find_fault(key: str, value: str | None) -> Finding | None:
    patterns = _key_patterns(key)
    # A key without `=` is true to git.
    given = "true" if value is None else value
    row = next((_ALLOWED_KEYS[pattern] for pattern in patterns if pattern in _ALLOWED_KEYS), None)
    if row is not None and re.fullmatch(row.value, given):
        return None
    danger = next((_DANGEROUS_KEYS[pattern] for pattern in patterns if pattern in _DANGEROUS_KEYS), None)
    if danger is not None:
        return Finding(key, danger.danger, danger.why)
    if row is not None:
        return Finding(key, Danger.UNKNOWN, "its value has not the shape that it should have")
    return Finding(key, Danger.UNKNOWN, "no rule allows this setting")


def _key_patterns(key: str) -> tuple[str, ...]:
    """The spellings under which the tables may hold a key, the closest first. A subsection may hold dots."""
    section, _, rest = key.partition(".")
    _subsection, dot, name = rest.rpartition(".")
    if dot:
        return f"{section}.*.{name}", f"{section}.*.*"
    return f"{section}.{name}", f"{section}.*"


def audit_attributes(data: bytes) -> tuple[Finding, ...]:
    """Names every attribute of `.git/info/attributes` that is refused.

    Macros (`[attr]name`) are refused as a whole: they give a name to what the list forbids.
    """
    findings: list[Finding] = []
    text = data.decode("utf-8", "surrogateescape").removeprefix("\ufeff")
    for number, line in enumerate(text.split("\n"), start=1):
        stripped = line.strip(" \t\r")
        if not stripped or stripped.startswith("#"):
            continue
        attributes = _split_attributes(stripped)
        if attributes is None or stripped.startswith("[attr]"):
            findings.append(Finding(f"line {number}", Danger.UNREADABLE, "macros and open quotes are not allowed"))
            continue
        findings += [
            Finding(attribute, _attribute_danger(attribute), "no rule allows this attribute")
            for attribute in attributes
            if not _is_attribute_allowed(attribute)
        ]
    return tuple(findings)


def _split_attributes(line: str) -> list[str] | None:
    """What follows the pattern, or None when a quoted pattern does not end."""
    if not line.startswith('"'):
        return re.split(r"[ \t\r]+", line)[1:]
    quoted = re.match(r'"(?:[^"\\]|\\.)*"', line)
    return re.split(r"[ \t\r]+", line[quoted.end() :].strip(" \t\r")) if quoted and quoted.end() < len(line) else None


def _attribute_danger(attribute: str) -> Danger:
    return Danger.RUNS if attribute.partition("=")[0] in _DRIVER_ATTRIBUTES else Danger.UNKNOWN


def _is_attribute_allowed(attribute: str) -> bool:
    if attribute.startswith("!"):  # unspecified again: as if the line were not there
        return True
    name, equals, value = attribute.removeprefix("-").partition("=")
    shape = value if equals else "-" if attribute.startswith("-") else ""
    row = _ALLOWED_ATTRIBUTES.get(name)
    return row is not None and re.fullmatch(row.value, shape) is not None
