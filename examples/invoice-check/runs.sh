#!/bin/sh
# Converts a CSV file of invoices (number,supplier,order,amount, with a header line) to lines for `dormouse enqueue`.
#
#   sh runs.sh invoices.csv | dormouse enqueue -
#
# The idempotency key is the invoice number: each invoice is checked once, even if several jobs enqueue the file repeatedly.
# Fields must not contain commas. They are encoded as JSON strings, so quotes in a name are safe.
set -eu
awk -F, '
function text(s) {
	gsub(/\\/, "&&", s); gsub(/"/, "\\\"", s); gsub(/\t/, "\\t", s); gsub(/\r/, "", s)
	return "\"" s "\""
}
NR == 1 { next }
NF != 4 { print FILENAME ", line " NR ": " NF " fields, not 4" > "/dev/stderr"; exit 1 }
{
	sub(/\r$/, "", $4)
	input = "Invoice " $1 " of " $2 ": " $4 " for order " $3
	print "{\"idempotency_key\":" text("invoice-" $1) ",\"agent\":\"invoice-check\",\"input\":" text(input) ",\"metadata\":{\"supplier\":" text($2) "}}"
}' "$1"
