#!/bin/sh
# Makes one line for `dormouse enqueue` out of each invoice of a CSV file: number,supplier,order,amount under a line of headings.
#
#   sh runs.sh invoices.csv | dormouse enqueue -
#
# The key is the invoice's number: however often the file is enqueued, and by however many jobs, each invoice is checked once.
# Fields may not hold commas. What stands in them is written as JSON text, so that a quote in a name is no harm.
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
