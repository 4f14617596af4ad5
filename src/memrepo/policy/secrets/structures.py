"""Places where a secret stands by the rules of a syntax: URLs, headers, key blocks, commands, configuration files.

Data: one row per place, with the plain text that must be there before its pattern is tried (so most lines try none).
Group `v` of a pattern is the secret. Every repetition is bounded or runs over one class, so a search is linear.
"""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, NamedTuple

from memrepo.policy.secrets.shapes import Shape, find_shape, is_placeholder
from memrepo.policy.secrets.words import OPEN_MODIFIERS

if TYPE_CHECKING:
    from collections.abc import Callable


class Structure(NamedTuple):
    """One place. `gates`: any of these must stand in the lower-cased text. `check` may refuse what was found."""

    kind: str
    gates: tuple[str, ...]
    pattern: str
    check: Callable[[str], bool]
    source: str


def _any(value: str) -> bool:
    return not is_placeholder(value)


def _always(_value: str) -> bool:
    return True


def _basic(value: str) -> bool:
    """Basic credentials are base64 of `user:password`."""
    try:
        plain = base64.b64decode(value + "=" * (-len(value) % 4), validate=True)
    except (binascii.Error, ValueError):
        return False
    user, colon, password = plain.partition(b":")
    return bool(colon) and bool(user or password) and all(byte > 31 for byte in plain)


def _bearer(value: str) -> bool:
    return not is_placeholder(value) and (any(map(str.isdigit, value)) or find_shape(value) is Shape.OPAQUE)


def _opaque(value: str) -> bool:
    return not is_placeholder(value) and find_shape(value) in {Shape.OPAQUE, Shape.HEX, Shape.UUID}


def _chosen(value: str) -> bool:
    """A password that can be nothing else: letters and digits with a mark, a capital, or many digits."""
    core = value.rstrip(".,)")
    has_mark = any(not char.isalnum() and char not in "-_.=" for char in core)
    digits = sum(map(str.isdigit, core))
    is_mixed = any(map(str.isalpha, core)) and digits > 0
    return (
        is_mixed
        and (has_mark or (digits > 2 and core.isalnum()) or any(map(str.isupper, core)))
        and not is_placeholder(value)
    )


def _url_password(value: str) -> bool:
    return value.lower() not in {"password", "pass", "pwd", "passwd", "secret", "token", "user"} and _any(value)


_END = r"(?=[\s\"'`<>)\]},;&|\\]|$)"
_QUOTED = r"(?:\"(?P<v>[^\"\n]{3,120})\"|'(?P<v2>[^'\n]{3,120})'|(?P<v3>[^\s\"'`;|]{3,200}))"
_FLAG = (
    r"(?:--?(?:db-?|http-?|proxy-?|user-?|admin-?|root-?)?pass(?:word|wd|phrase)?|--?pwd|--?secret"
    r"|--?storepass|--?keypass)"
)
# Programs that take a password by a flag, with the flag.
_COMMAND = (
    r"\b(?:(?:sshpass|docker|podman|az|helm|skopeo|mongo\w*|7za?|cqlsh|oc)\b[^\n|]{0,120}?\s(?:-p[ =]?|--password[ =])"
    r"|(?:mysql\w*|mariadb\w*)\b[^\n|]{0,120}?\s(?:-p|--password=)"
    r"|redis-cli\b[^\n|]{0,120}?\s-a |ldap\w+\b[^\n|]{0,120}?\s-w |(?:un)?zip\b[^\n|]{0,60}?\s-P "
    r"|user(?:add|mod)\b[^\n|]{0,120}?\s-p |openssl\b[^\n|]{0,120}?\s-k (?!pass:)|rclone obscure "
    r"|xfreerdp\b[^\n|]{0,120}?/p:|sqlcmd\b[^\n|]{0,120}?\s-P )"
)
_HOOK = (
    r"(?:hooks\.zapier\.com/hooks/catch|hook\.(?:eu\d\.|us\d\.)?make\.com|hook\.integromat\.com"
    r"|maker\.ifttt\.com/(?:trigger/\w+/(?:json/)?)?(?:with|use)/(?:key)?"
    r"|chat\.googleapis\.com/v1/spaces/\w+/messages\?key=[\w\-]+&token=?)/?"
)
_SIGNED = (
    rf"[?&;](?:amp;)?(?!(?:{'|'.join(sorted(filter(str.isascii, OPEN_MODIFIERS)))})[_-])"
    r"(?:sig|signature|x-amz-(?:signature|security-token|credential)|x-goog-(?:signature|credential)"
    r"|(?:[a-z]{1,20}[_-])?token|(?:[a-z]{1,20}[_-])?(?:api)?[_-]?key|apikey|awsaccesskeyid|client[_-]?secret|secret"
    r"|auth|code|sharedaccesskey)="
)
_HEADER = (
    r"(?:(?:proxy-)?authorization"
    r"|(?:x-)?(?:[a-z]{1,20}-)?(?:api-?key|auth-?key|auth-?token|access-?token|token|secret))[\"']?\s?[:=]\s{0,3}[\"']?"
    r"(?:(?:token|apikey|api-key|ssws|key|splunk|digest|hmac|aws4-hmac-sha256|genie-?key|oauth|bot|bearer|basic)"
    r"[ =]\s?)?"
    r"(?:[a-z_]{1,20}=)?[\"']?"
)
_COOKIE = (
    r"(?:j?sess(?:ion)?(?:_?id)?|phpsessid|jsessionid|asp\.net_sessionid|connect\.sid|_gitlab_session|\.aspxauth"
    r"|[a-z_\-]{0,20}session(?:_?id|_?token)?|sid|ssid|remember_token|auth_token|sessid)"
    r"[\"']?\s?(?:=|:\s|\bis\b\s)\s?[\"'`]?"
)
_TOTP = (
    r"(?:totp|2fa|otp|mfa|authenticator)[\w\- ]{0,24}?(?:secret|seed|key|setup key)?[\w ()]{0,24}?(?:is|:|=|\s)"
    r"\s{0,3}[\"'`]?(?P<v>(?:[A-Z2-7]{4}[ \-]){3,15}[A-Z2-7]{2,4}|[A-Z2-7]{16,64}|(?:[a-z2-7]{4} ){3,15}[a-z2-7]{2,4})"
    r"(?![A-Za-z0-9])"
)
_HASH = (
    r"(?P<v>\$2[abxy]?\$\d\d\$[./A-Za-z0-9]{40,60}"
    r"|\$(?:apr1|[156]|y)\$(?:rounds=\d+\$)?[./A-Za-z0-9$]{8,40}\$[./A-Za-z0-9]{20,100}"
    r"|\$argon2\w{1,2}\$v=\d+\$[\w=,]+\$[A-Za-z0-9+/]{8,100}\$[A-Za-z0-9+/]{16,200}"
    r"|pbkdf2_sha\d+\$\d+\$\w{8,40}\$[A-Za-z0-9+/=]{20,100}|\{S?SHA\}[A-Za-z0-9+/=]{20,80})"
)

STRUCTURES: tuple[Structure, ...] = (
    Structure(
        "private-key",
        ("private-lines:",),
        r"Private-Lines: ?\d+\s[A-Za-z0-9+/=\s]{20,20000}(?:Private-MAC: ?[0-9a-f]{20,64})?",
        _always,
        "PuTTY manual, appendix on the PPK format",
    ),
    Structure(
        "url-password",
        ("://",),
        r"://[^\s:/?#@\"'<>\[\]]{0,120}:"
        r"(?P<v>(?!\d{1,5}/)(?:[^\s\"'<>`/]{1,200}|[^\s\"'<>`@]{1,200}))@(?=[\w\[$%{<.\-])",
        _url_password,
        "RFC 3986, section 3.2.1: user information",
    ),
    Structure(
        "url-password",
        ("://",),
        r"://(?P<v>[A-Za-z0-9_\-.~%]{16,200})@(?=[\w\[])",
        _opaque,
        "RFC 3986, section 3.2.1: a token as the user",
    ),
    Structure(
        "webhook-url",
        ("hooks.slack.com",),
        r"hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/(?P<v>[A-Za-z0-9+/_\-]{8,200})",
        _any,
        "api.slack.com: incoming webhooks",
    ),
    Structure(
        "webhook-url",
        ("/api/webhooks/",),
        r"discord(?:app)?\.com/api/(?:v\d+/)?webhooks/(?P<v>\d{8,20}/[A-Za-z0-9_\-]{20,120})",
        _always,
        "discord.com/developers: webhooks",
    ),
    Structure(
        "webhook-url",
        ("webhook.office.com", "outlook.office.com/webhook"),
        r"(?:webhook\.office\.com|outlook\.office\.com)/webhook(?:b2)?/(?P<v>[A-Za-z0-9@\-/]{30,300})",
        _always,
        "learn.microsoft.com: Teams incoming webhooks",
    ),
    Structure(
        "webhook-url",
        (
            "hooks.zapier.com",
            "hook.make.com",
            "hook.eu",
            "hook.us",
            "://maker.ifttt",
            "://chat.googleapis",
            "hook.integromat",
        ),
        _HOOK + r"(?P<v>[A-Za-z0-9_\-/%]{12,200})",
        _any,
        "zapier.com, make.com, ifttt.com, developers.google.com/chat: webhooks",
    ),
    Structure(
        "telegram-token",
        (":a",),
        r"(?<![A-Za-z0-9])(?:bot)?(?P<v>\d{5,16}:A[A-Za-z0-9_\-]{32,36})(?![A-Za-z0-9_\-])",
        _always,
        "core.telegram.org/bots/api: authorizing your bot",
    ),
    Structure(
        "url-signature",
        (
            "sig=",
            "signature=",
            "credential=",
            "token=",
            "key=",
            "secret=",
            "password=",
            "pwd=",
            "auth=",
            "passwd=",
            "code=",
        ),
        _SIGNED + r"(?P<v>[^\s\"'<>&`#;)\]]{8,2000})",
        _opaque,
        "provider pages on signed URLs: AWS SigV4, Google Cloud V4, Azure SAS",
    ),
    Structure(
        "url-password",
        ("password=", "passwd=", "pwd="),
        r"[?&](?:password|passwd|pwd)=(?P<v>[^\s\"'<>&`#]{3,200})",
        _any,
        "passwords in a query",
    ),
    Structure(
        "connection-string-key",
        ("accountkey=", "sharedaccesskey=", "sharedsecret", "sharedaccesssignature=", "accesskey="),
        r"(?:AccountKey|SharedAccessKey|SharedSecretValue|SharedAccessSignature|AccessKey)\s?=\s?"
        r"(?P<v>[A-Za-z0-9+/=%_\-]{16,200})",
        _any,
        "learn.microsoft.com: storage, service bus and event hub connection strings",
    ),
    Structure(
        "password",
        ("pwd=", "password="),
        r"(?:^|[;\"'\s])(?:pwd|password)\s?=\s?(?P<v>[^;\s\"'][^;\"'\n]{0,100}?)(?=;|[\"']|$|\s\w{1,30}=)",
        lambda value: _any(value.rstrip(",)")),
        "ODBC and ADO.NET connection strings",
    ),
    Structure(
        "bearer-token",
        ("bearer ",),
        r"[Bb]earer:?\s+[\"'`]?(?P<v>[A-Za-z0-9_\-.~+/=:|]{8,4000})",
        _bearer,
        "RFC 6750",
    ),
    Structure(
        "basic-credentials",
        ("basic ", "_auth", '"auth"', "'auth'", "auth:"),
        r"(?:[Bb]asic\s+|_auth[\"']?\s?[:=]\s?[\"']?|[\"']auth[\"']\s?:\s?[\"']|\bauth:\s?[\"']?)"
        r"(?P<v>[A-Za-z0-9+/_\-]{6,1000}={0,2})" + _END,
        _basic,
        "RFC 7617; docker and npm configuration files",
    ),
    Structure(
        "authorization-header",
        ("authorization", "api-key", "apikey:", "auth-key", "-token:", "-secret:"),
        _HEADER + r"(?P<v>[A-Za-z0-9_\-.~+/=:|@%]{8,2000})",
        _bearer,
        "RFC 9110, section 11; provider pages on request headers",
    ),
    Structure(
        "cookie",
        ("sess", ".sid=", "remember_token", "auth_token=", "ssid=", ".aspxauth"),
        _COOKIE + r"(?P<v>[A-Za-z0-9_\-.%+/=:]{16,2000})",
        lambda value: not is_placeholder(value) and find_shape(value) in {Shape.OPAQUE, Shape.HEX},
        "session cookies of Java, PHP, ASP.NET, Express, Rails, GitLab, Django",
    ),
    Structure(
        "cookie",
        ("cookie:",),
        r"cookie:\s?(?:[\w.\-]{1,40}=[\w.\-]{0,12};\s?){0,6}[\w.\-]{1,40}=(?P<v>[A-Za-z0-9_\-.%+/=:]{16,2000})",
        lambda value: not is_placeholder(value) and find_shape(value) in {Shape.OPAQUE, Shape.HEX},
        "RFC 6265",
    ),
    Structure("otp-secret", ("otpauth:",), r"secret=(?P<v>[A-Za-z2-7]{8,128}=*)", _always, "Key URI format: otpauth"),
    Structure(
        "otp-secret",
        ("totp", "2fa", "otp ", "otp:", "otp_", "authenticator", "mfa"),
        _TOTP,
        lambda value: any(map(str.isdigit, value)) or value.isupper(),
        "RFC 4648 base32, as authenticator apps show it",
    ),
    Structure(
        "command-password",
        (" -u", " --user", " --proxy-user", " -a ", " --auth"),
        r"(?:\s(?:-u|--user|--proxy-user|-a|--auth)[ =]?\s?[\"']?)(?P<user>[^\s:\"'/]{0,80}):(?P<v>[^\s\"'`]{2,200})",
        _url_password,
        "curl(1): -u user:password",
    ),
    Structure(
        "command-password",
        (" -p", " --p", " -a ", " -w ", " -k ", "/p:", "rclone obscure"),
        _COMMAND + _QUOTED,
        _any,
        "sshpass(1), mysql(1), docker-login(1), az(1), redis-cli, ldapsearch(1), zip(1), sqlcmd",
    ),
    Structure(
        "command-password",
        ("-pass", "--pwd", "--secret", "-storepass", "-keypass"),
        r"(?:^|\s)" + _FLAG + r"[ =]\s?(?:pass:)?" + _QUOTED,
        lambda value: (
            not is_placeholder(value)
            and not value.startswith("-")
            and (not value.isalpha() or value[0].isupper() is not value[-1].isupper())
        ),
        "long options of command lines",
    ),
    Structure(
        "command-password",
        ("pass:",),
        r"(?:-pass(?:in|out)?|-k)\s{1,3}[\"']?pass:(?P<v>[^\s\"']{2,120})",
        _any,
        "openssl(1): pass phrase options",
    ),
    Structure(
        "command-password",
        ("net use",),
        r"\bnet use[r]?\s+(?:[A-Za-z]:\s+)?(?:\\\\\S{1,80}\s+)?(?:/user:\S{1,60}\s+)?"
        r"[\w.\\\-]{1,60}\s+(?!/)(?P<v>[^\s/][^\s]{3,60})",
        lambda value: not is_placeholder(value) and not value.isalpha(),
        "net user and net use of Windows",
    ),
    Structure(
        "command-password",
        ("htpasswd",),
        r"\bhtpasswd\s+-\w*b\w*\s+(?:\S{1,100}\s+)?[\w.@\-]{1,60}\s+(?P<v>[^\s\"']{3,80})",
        _any,
        "htpasswd(1): -b",
    ),
    Structure(
        "password",
        ("login ",),
        r"\blogin\s+\S{1,80}\s+password\s+(?P<v>[^\s\"'`]{3,120})",
        _any,
        "netrc(5)",
    ),
    Structure(
        "password",
        (":543", ":*:", ":330", ":6432:", "pgpass"),
        r"(?:^|[\s`\"'])[\w.*\-]{1,100}:(?:\d{2,5}|\*):[\w*.\-]{1,60}:[\w*.\-]{1,60}:(?P<v>[^\s\"'`]{3,100})",
        _any,
        "PostgreSQL: the password file",
    ),
    Structure(
        "password",
        ("identified by", "identified with"),
        r"identified(?:\s+with\s+\S{1,40})?\s+by\s+(?:password\s+)?(?:\"(?P<v>[^\"\n]{3,120})\"|'(?P<v2>[^'\n]{3,120})')",
        _any,
        "MySQL and Oracle manuals: CREATE USER",
    ),
    Structure(
        "password",
        ("requirepass", "masterauth"),
        r"(?:requirepass|masterauth)[ \t=:\"']{1,3}(?P<v>[^\s\"']{4,200})",
        _chosen,
        "redis.io: configuration file",
    ),
    Structure(
        "password",
        ("root:", "admin:", "root /", "admin /", "root/", "admin/"),
        r"(?<![\w./:@\-])(?:root|admin|administrator)\s?[:/]\s?(?P<v>[^\s\"'`,;:/(){}<>]{6,60})",
        _chosen,
        "how people write down a login",
    ),
    Structure(
        "password",
        ("@",),
        r"@[\w\-]{1,40}(?:\.[\w\-]{1,40}){0,3}\.[a-z]{2,12}(?:\s/\s|:\s?)(?P<v>[^\s\"'`,;:/(){}<>]{6,60})(?=[,;.)]?(?:\s|$))",
        _chosen,
        "how people write down a login: address and password",
    ),
    Structure(
        "password",
        ("@",),
        r"(?<!\S)[\w.\-]{1,40}:(?P<v>[^\s@:/\"'`]{6,80})@[\w\-]{1,60}(?:\.[\w\-]{1,60}){1,5}(?![\w@])",
        _chosen,
        "a URL's user information without its scheme: sftp user:password@host",
    ),
    Structure(
        "password",
        ("log in as", "login as", "logged in as", "sign in as"),
        r"in as \S{1,40} (?:with|using) [\"'`]?(?P<v>[^\s\"'`,;]{8,60})",
        _chosen,
        "how people write down a login",
    ),
    Structure(
        "password",
        ("getconnection(",),
        r"getConnection\([^\n]{1,200},\s?[\"'](?P<v>[^\"'\n]{4,120})[\"']\)",
        _any,
        "Java SE documentation: DriverManager.getConnection(url, user, password)",
    ),
    Structure(
        "password",
        ("wifi:",),
        r"WIFI:[^\n]{0,100}?P:(?P<v>[^;\n]{4,63});",
        _any,
        "the text of a QR code for a wireless network",
    ),
    Structure(
        "command-password",
        ("sudo -s",),
        r"echo\s[\"']?(?P<v>[^\s\"'|]{3,80})[\"']?\s?\|\s?sudo -S",
        _any,
        "sudo(8): -S reads the password from standard input",
    ),
    Structure(
        "password-hash",
        ("$2", "$apr1$", "$1$", "$5$", "$6$", "$y$", "$argon2", "$pbkdf2", "$scrypt", "sha256$", "sha1$", "sha}"),
        _HASH,
        _always,
        "crypt(5), passlib, Django: stored forms of a password",
    ),
    Structure(
        "sidekiq-secret",
        ("contribsys",),
        r"(?:contribsys__com[\"']?\s?[:=]\s?[\"']?|https?://)(?P<v>[a-f0-9]{8}:[a-f0-9]{8})\b",
        _always,
        "github.com/sidekiq: Pro and Enterprise gem server credentials",
    ),
    Structure(
        "azure-client-secret",
        ("q~",),
        r"(?<![A-Za-z0-9_~.\-])(?P<v>[A-Za-z0-9_~.]{3}\dQ~[A-Za-z0-9_~.\-]{28,36})",
        _always,
        "learn.microsoft.com: identifiable client secrets",
    ),
    Structure(
        "maxmind-key",
        ("_mmk",),
        r"(?<![A-Za-z0-9])(?P<v>[A-Za-z0-9]{6}_[A-Za-z0-9]{24,32}_mmk)",
        _always,
        "dev.maxmind.com: license key format",
    ),
    Structure(
        "mailchimp-key",
        ("-us",),
        r"(?<![A-Za-z0-9])(?P<v>[a-f0-9]{32}-us\d{1,2})(?![A-Za-z0-9])",
        _always,
        "mailchimp.com/developer: API keys end with the data centre",
    ),
    Structure(
        "facebook-token",
        ("|", "%7c"),
        r"(?<![A-Za-z0-9])(?P<v>\d{15,16}(?:\||%7[Cc]|%)[0-9A-Za-z_\-]{26,40})(?![0-9A-Za-z_\-])",
        _always,
        "developers.facebook.com: app access tokens",
    ),
    Structure(
        "dropbox-token",
        ("aaaaaaaaaa",),
        r"(?<![A-Za-z0-9])(?P<v>[A-Za-z0-9]{11}AAAAAAAAAA[A-Za-z0-9_=\-]{40,46})(?![A-Za-z0-9])",
        _always,
        "dropbox.com/developers: long-lived tokens",
    ),
    Structure(
        "nuget-password",
        ('password"', "password'"),
        r"key=[\"'](?:ClearText)?Password[\"']\s+value=[\"'](?P<v>[^\"'\n]{4,200})[\"']",
        _any,
        "learn.microsoft.com: nuget.config",
    ),
    Structure(
        "convex-key",
        ("prod:", "dev:", "preview:"),
        r"(?<![\w])(?P<v>(?:prod|dev|preview):[a-z0-9\-]{4,50}\|[A-Za-z0-9+/=]{30,400})",
        _always,
        "docs.convex.dev: deploy keys",
    ),
)
