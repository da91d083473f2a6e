"""A check of .ci/schemathesis in place of positive_data_acceptance: what the document allows is never refused for its form. It may well be
refused for what it means: a key that was used before, a cursor of another list, a run that is done."""

import re

import schemathesis

FORM = ("malformed_body", "unknown_field", "unsupported_media_type", "too_large")


@schemathesis.check
def form_is_taken(ctx, response, case):
    meta = case.meta
    if meta is None or not meta.generation.mode.is_positive or response.status_code < 400:
        return
    code, detail = response.json().get("code"), response.json().get("detail", "")
    # For JSON Schema 39.0 is an integer. The server wants whole numbers without a fraction, and says so.
    if code == "malformed_body" and re.search(r"must not be a number -?\d+\.0$", detail):
        return
    assert code not in FORM, f"the document allows the request, and it was refused with {code}: {response.text}"
