"""A check of .ci/schemathesis in place of positive_data_acceptance: what the document allows is never refused for its form. It may well be
refused for what it means: a key that was used before, a cursor of another list, a run that is done."""

import schemathesis

FORM = ("malformed_body", "unknown_field", "unsupported_media_type", "too_large")


@schemathesis.check
def form_is_taken(ctx, response, case):
    meta = case.meta
    if meta is None or not meta.generation.mode.is_positive or response.status_code < 400:
        return
    code = response.json().get("code")
    assert code not in FORM, f"the document allows the request, and it was refused with {code}: {response.text}"
