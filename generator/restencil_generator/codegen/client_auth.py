"""What a package says of who asks: the schemes of its API, and in which alternatives requests use them."""

from __future__ import annotations

from restencil_generator.codegen.imports import Scope
from restencil_generator.codegen.pyexpr import Call, Expression, Table, pair, string
from restencil_generator.spec import model as d
from restencil_generator.spec.grammar.keys import SCHEME_KINDS

_UNNAMED = frozenset(SCHEME_KINDS) - {"header", "cookie", "query"}
"""Kinds of schemes whose header has a name of its own."""


def auth_of(auth: d.Auth, scope: Scope) -> Expression:
    """The `auth` of the API: `Auth.bearer(…)`, or `Schemes(…)` where the spec names them."""
    if auth.short:
        return _scheme(auth.schemes[0], scope)
    schemes = Table(tuple((string(scheme.name), _scheme(scheme, scope)) for scheme in auth.schemes))
    use = pair([pair(list(map(string, names))) for names in auth.use])
    return Call(scope.restencil("Schemes"), (schemes,), (("use", use),))


def _scheme(scheme: d.Scheme, scope: Scope) -> Expression:
    maker = f"{scope.restencil('Auth')}.{scheme.kind}"
    keywords: list[tuple[str, Expression]] = []
    last: list[tuple[str, Expression]] = []
    if scheme.deprecated is not None:
        last.append(("deprecated", string(scheme.deprecated)))
    if scheme.oauth2 is not None:
        return Call(maker, (string(scheme.oauth2.token_url),), (*_told(scheme.oauth2), *last))
    if scheme.prefix:
        keywords.append(("prefix", string(scheme.prefix)))
    if scheme.env is not None:
        keywords.append(("env", string(scheme.env)))
    return Call(maker, () if scheme.kind in _UNNAMED else (string(scheme.parameter),), (*keywords, *last))


def _told(oauth2: d.OAuth2) -> list[tuple[str, Expression]]:
    """The keywords of an `oauth2` scheme, those that say something."""
    found: list[tuple[str, Expression]] = []
    if oauth2.grant != "client_credentials":
        found.append(("grant", string(oauth2.grant)))
    if oauth2.scopes:
        found.append(("scopes", pair(list(map(string, oauth2.scopes)))))
    if oauth2.client_auth != "basic":
        found.append(("client_auth", string(oauth2.client_auth)))
    for name, texts in (("params", oauth2.params), ("env", oauth2.env)):
        if texts:
            found.append((name, Table(tuple((string(key), string(text)) for key, text in texts.items()))))
    return found
