"""The `auth` of a generated client: authentication schemes, and their alternatives for requests."""

from __future__ import annotations

from restencil_generator.codegen.imports import Scope
from restencil_generator.codegen.pyexpr import call, pair, string, table
from restencil_generator.spec import model as d
from restencil_generator.spec.grammar.keys import SCHEME_KINDS

_UNNAMED = frozenset(SCHEME_KINDS) - {"header", "cookie", "query"}
"""Kinds of schemes without the name of a header, cookie or parameter."""


def auth_of(auth: d.Auth, scope: Scope) -> str:
    """Return the `auth` of the API: `Auth.bearer(…)`, or `Schemes(…)` if the spec names its schemes."""
    if auth.short:
        return _scheme(auth.schemes[0], scope)
    schemes = table({string(scheme.name): _scheme(scheme, scope) for scheme in auth.schemes})
    use = pair(pair(map(string, names)) for names in auth.use)
    return call(scope.restencil("Schemes"), [schemes], {"use": use})


def _scheme(scheme: d.Scheme, scope: Scope) -> str:
    maker = f"{scope.restencil('Auth')}.{scheme.kind}"
    deprecated = {} if scheme.deprecated is None else {"deprecated": string(scheme.deprecated)}
    if scheme.oauth2 is not None:
        return call(maker, [string(scheme.oauth2.token_url)], _oauth2_options(scheme.oauth2) | deprecated)
    options: dict[str, str] = {}
    if scheme.prefix:
        options["prefix"] = string(scheme.prefix)
    if scheme.env is not None:
        options["env"] = string(scheme.env)
    return call(maker, [] if scheme.kind in _UNNAMED else [string(scheme.parameter)], options | deprecated)


def _oauth2_options(oauth2: d.OAuth2) -> dict[str, str]:
    """Return the options of an `oauth2` scheme that differ from the defaults."""
    found: dict[str, str] = {}
    if oauth2.grant != "client_credentials":
        found["grant"] = string(oauth2.grant)
    if oauth2.scopes:
        found["scopes"] = pair(map(string, oauth2.scopes))
    if oauth2.client_auth != "basic":
        found["client_auth"] = string(oauth2.client_auth)
    for name, texts in (("params", oauth2.params), ("env", oauth2.env)):
        if texts:
            found[name] = table({string(key): string(text) for key, text in texts.items()})
    return found
