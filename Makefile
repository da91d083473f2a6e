# The version is the newest tag and the commits since, or the commit alone.
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
LDFLAGS  = -X main.version=$(VERSION)
STATICCHECK = go tool -modfile=tools/go.mod staticcheck

.DEFAULT_GOAL := help

.PHONY: help build demo test lint ci

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-8s %s\n", $$1, $$2}'

build: ## bin/dormouse
	CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o bin/dormouse ./cmd/dormouse

demo: build ## one run: starts, waits for an approval, survives kill -9, finishes
	go run ./examples/refund-desk/demo -bin bin/dormouse -agents examples/refund-desk

test: ## all tests, with the race detector, in random order (needs a C compiler)
	go test -race -shuffle=on $(FLAGS) ./...

lint: ## gofmt, go vet, staticcheck
	@bad=$$(gofmt -l .); test -z "$$bad" || { echo "not formatted:"; echo "$$bad"; exit 1; }
	go vet ./...
	$(STATICCHECK) ./...

ci: ## what the runner does: lint, test, demo, recordings with faults
	.ci/run
