"""Who gets into the Hub, and what a browser may do with its pages. Pure but for the two secrets it makes.

The launch token in the first address is good for one visit; it becomes a cookie that lives as long as the server. Ports
share cookies, so the cookie is bound to a folder that nobody can guess: no other server on 127.0.0.1 is ever sent it.
Every request must carry our own Host. One that changes something must carry the exact Origin of its own page, so no
other page, not even one of another port of this machine, can send it (CSRF).
Source: https://owasp.org/www-project-web-security-testing-guide/ (session management, CSRF);
https://www.w3.org/TR/CSP3/; https://www.w3.org/TR/fetch-metadata/.
"""

from __future__ import annotations

import hmac
import secrets
from typing import TYPE_CHECKING

from memrepo.surfaces.loopback import Refusal, find_foreign, list_hosts

if TYPE_CHECKING:
    from collections.abc import Mapping

COOKIE = "memrepo-hub"
LAUNCH = "/open"
_SECRET_BYTES = 32
_FOLDER_BYTES = 12
_SAFE = frozenset({"GET", "HEAD"})
_OWN_SITES = frozenset({"same-origin", "none"})

HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    # not no-referrer: it would take the Origin off our own forms
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cache-control": "no-store",
}
"""What every answer says, refusals too."""


class Gate:
    """The rules of one run. `folder` is what every path starts with; `launch_path` opens the Hub once."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._session = secrets.token_urlsafe(_SECRET_BYTES)
        self._token: str | None = secrets.token_urlsafe(_SECRET_BYTES)
        self.folder = f"/{secrets.token_urlsafe(_FOLDER_BYTES)}"
        self.launch_path = f"{self.folder}{LAUNCH}?token={self._token}"

    @property
    def cookie(self) -> str:
        """The header that lets a browser in from now on. Without `Secure`: a loopback address has no TLS."""
        return f"{COOKIE}={self._session}; Path={self.folder}/; HttpOnly; SameSite=Strict"

    def find_refusal(self, method: str, path: str, headers: Mapping[str, str]) -> Refusal | None:
        """Decides about one request; `headers` by their names in small letters, `path` as it is routed."""
        if refusal := find_foreign(headers, self._port):
            return refusal
        if method not in _SAFE and headers.get("origin") != f"http://{headers['host']}":
            return Refusal(403, "a change must come from a page of the Hub itself")
        if not path.startswith(f"{self.folder}/"):
            return Refusal(404, "there is nothing here; open the address that memrepo hub shows")
        if path == f"{self.folder}{LAUNCH}":
            return None
        if headers.get("sec-fetch-site", "none") not in _OWN_SITES:
            return Refusal(403, "another site may not use the Hub")
        if not self._has_session(headers.get("cookie", "")):
            return Refusal(401, "this browser is not signed in; run memrepo hub again and open the address it shows")
        return None

    def use_token(self, token: str) -> bool:
        """Whether the token opens the Hub; it does so once."""
        if self._token is None or not hmac.compare_digest(token.encode(), self._token.encode()):
            return False
        self._token = None
        return True

    def _has_session(self, cookies: str) -> bool:
        for pair in cookies.split(";"):
            name, _, value = pair.strip().partition("=")
            if name == COOKIE and hmac.compare_digest(value.encode(), self._session.encode()):
                return True
        return False


def make_url(port: int, path: str) -> str:
    """The address of a page."""
    return f"http://{list_hosts(port)[0]}{path}"
