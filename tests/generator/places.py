"""What stands around a mapping in each place, so that the whole is a spec but for what stands in it."""

from __future__ import annotations

from restencil_generator.spec.grammar.type_words import FORMS, form_section

AROUND = {
    "spec": "{}",
    "auth": "auth: {}",
    "scheme": "auth: {{schemes: {{one: {}}}}}",
    "oauth2": "auth: {{schemes: {{one: {{oauth2: {}}}}}}}",
    "options": "options: {}",
    "entity": "entities: {{Article: {}}}",
    "resource": "resources: {{articles: {}}}",
    "endpoint": "resources: {{articles: {{path: /a/:id, schema: Todo, endpoints: {{extra: {}}}}}}}",
    "collection": "resources: {{articles: {{path: /a/:id, schema: Todo, collection: {}}}}}",
    "pagination": "resources: {{articles: {{path: /a/:id, schema: Todo, pagination: {}}}}}",
    "page_size": "resources: {{articles: {{path: /a/:id, schema: Todo, pagination: {{style: page, size: {}}}}}}}",
    "error_choice": "errors: {{404: {}}}",
    "request": "resources: {{articles: {{path: /a/:id, schema: Todo, request: {}}}}}",
    "response": "resources: {{articles: {{path: /a/:id, schema: Todo, response: {}}}}}",
    "redirects": "redirects: {}",
    "freshness": "options: {{freshness: {}}}",
    "server_freshness": "options: {{freshness: {{server: {}}}}}",
    "concurrency": "options: {{concurrency: {}}}",
    "search_style": "search_style: {}",
    "server": "servers: {{main: {}}}",
    "server_variable": "servers: {{main: {{url: https://a.example, variables: {{field: {}}}}}}}",
    "client_header": "header_params: {{field: {}}}",
    "client_param": "search_params: {{field: {}}}",
    "header_param": "resources: {{articles: {{path: /a/:id, schema: Todo, header_params: {{field: {}}}}}}}",
    "example": "resources: {{articles: {{path: /a/:id, schema: Todo, examples: {{get: {}}}}}}}",
    "entity_field": "entities: {{Article: {{fields: {{id: integer, field: {}}}}}}}",
    "object_field": "objects: {{Thing: {{field: {}}}}}",
    "body_field": "resources: {{articles: {{path: /a/:id, schema: Todo, body: {{field: {}}}}}}}",
    "form_field": "resources: {{articles: {{path: /a/:id, schema: Todo, body: {{form: {{field: {}}}}}}}}}",
    "file_field": "resources: {{articles: {{path: /a/:id, schema: Todo, body: {{multipart: {{field: {}}}}}}}}}",
    "path_param": "resources: {{articles: {{path: /a/:id, schema: Todo, params: {{id: {}}}}}}}",
    "search_param": "resources: {{articles: {{path: /a/:id, schema: Todo, search_params: {{field: {}}}}}}}",
    **{form_section(word): "resources: {{articles: {{path: /a/:id, schema: Todo, endpoints: {{extra: {{path: /e, "
       "schema: {}}}}}}}}}" for word in FORMS if word != "entity"},
    "collection_form": "entities: {{Todo: {{fields: {{id: integer}}}}, Own: {{fields: {{id: integer, todos: {}}}}}}}",
    "entity_form": "resources: {{articles: {{path: /a/:id, schema: {}}}}}",
}  # fmt: skip
