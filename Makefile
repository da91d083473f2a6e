# The version is the newest tag and the commits since, or the commit alone.
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
# Without symbols for debuggers the program is a third smaller; stack traces stay.
LDFLAGS  = -s -w -X main.version=$(VERSION)
STATICCHECK = go tool -modfile=tools/go.mod staticcheck
DEADCODE = go tool -modfile=tools/go.mod deadcode
ACTIONLINT = go tool -modfile=tools/go.mod actionlint

.DEFAULT_GOAL := help

.PHONY: help build demo test race long sim planted torture bench lint vuln tails fuzz deploy sam e2e dist image ci

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-8s %s\n", $$1, $$2}'

build: ## bin/dormouse, and bin/dormouse-proof, which tests it; TAGS=noaws leaves AWS out
	@echo "building; with empty caches this downloads the modules and takes about a minute"
	CGO_ENABLED=0 go build -trimpath -tags '$(TAGS)' -ldflags '$(LDFLAGS)' -o bin/ ./cmd/dormouse ./cmd/dormouse-proof

# The demo needs no AWS, which is a fifth of the build. go build -v names each package it has built.
demo: SHELL := bash
demo: .SHELLFLAGS := -o pipefail -c
demo: DEMO = -tags noaws ./examples/refund-desk ./internal/proof/demo
demo: ## one run: starts, waits for an approval, survives kill -9, finishes
	@echo "building the demo; with empty caches this downloads the modules and takes about a minute"
	@of=$$(go list -deps $(DEMO) | wc -l) && CGO_ENABLED=0 go build -v -trimpath -ldflags '$(LDFLAGS)' -o bin/ $(DEMO) 2>&1 | \
		awk -v of=$$of '/^[a-z][^ :]*$$/ { if (++n % 40 == 0) { printf "  built %d of %d packages\n", n, of; fflush() } next } { print; fflush() }'
	@bin/demo -bin bin/refund-desk -agents examples/refund-desk

# The race detector needs a C compiler; everything else needs Go alone.
RACE := $(if $(shell command -v $(CC) 2>/dev/null),-race)

# Under the race detector, tests on SQLite spend more than half of their time in its C code, which is
# translated to Go. That package goes unwatched. The driver that copies into its memory, the locks of
# SQLite and our store are watched.
# ALONE are slow tests of one goroutine or of other processes, in which it finds nothing, and UNWATCHED are packages whose tests
# have one goroutine: `test` and `long` play them.
ALONE := TestTheSpecificationListsTheCasesThatTestsName|TestNothingAddedEverWidens|TestReadReply|TestTheSchemaRefusesAnUnknownMemberAnywhere
ALONE := $(ALONE)|TestWaitingRunsAreMeasured|TestASmallTenantIsMeasuredBesideFloods|TestTheBuiltProgramServes|TestPagesShowWhatHappens|TestAColdFileIsReadFromTheDisk
ALONE := $(ALONE)|TestResponsesAddUp|TestATreeSplitAtAnyCursorIsTheWhole|TestTheOrderOfATree|TestATreeRestsOnlyBehindItsLastEvent|TestInboxScreensFit
ALONE := $(ALONE)|TestFoldingKnowsEveryCharacterThatAnotherIsTakenFor|TestEveryMemberOfTheSchemaIsNeeded|TestTheTemplateHoldsWhatLintDoesNotSee

UNWATCHED := ./internal/agent/agentfile/schema ./internal/aws/template ./internal/proof/tails ./internal/proof/ways

# The packages with suites of which -short plays a slice, and those with tests of ALONE.
SUITES  = $(patsubst %/,./%,$(sort $(dir $(shell grep -rl --include='*_test.go' --exclude-dir=browsertest -E 'testing\.Short|effort\.(Of|Long)' cmd examples internal))))
LONELY  = $(filter-out $(SUITES) $(UNWATCHED),$(patsubst %/,./%,$(sort $(dir $(shell grep -rl --include='*_test.go' --exclude-dir=node_modules -E '^func ($(ALONE))\b' *_test.go cmd examples internal)))))
GOTEST  = GOGC=400 go run ./internal/proof/testrun -shuffle=on -p=4

# Half of the packages wait more than they compute, so more of them run at once than there are cores.
test: ## all tests in random order, a slice of each long suite
	@$(GOTEST) -short $(FLAGS) $(or $(PACKAGES),./...)

race: ## the same with the race detector if there is a C compiler; slow tests of one goroutine left out
	$(if $(RACE),,@echo "there is no C compiler, so the race detector is left out")
	@$(MAKE) --no-print-directory test FLAGS="$(if $(RACE),-race -gcflags=modernc.org/sqlite/lib=-race=false) -skip='^($(ALONE)$(addprefix |,$(SKIP)))\b' $(FLAGS)" \
		PACKAGES="$$(go list ./... | grep -vxF "$$(go list $(UNWATCHED))" | tr '\n' ' ')"

long: ## all of the suites of which test and race play a slice, and what race leaves out
	@$(GOTEST) $(if $(SKIP),-skip='^($(SKIP))$$') $(FLAGS) $(SUITES)
	@$(GOTEST) -short $(FLAGS) $(filter-out $(SUITES),$(UNWATCHED))
	@$(GOTEST) -short -run='^($(ALONE))$$' $(FLAGS) $(LONELY)

torture: build ## kill a server KILLS times under load, and look for everything it acknowledged
	bin/dormouse-proof torture --kills $(or $(KILLS),50)

sim: ## SEEDS schedules of the simulator, from FIRST on, for at most FOR: everything at once, under every fault
	@go test -c -o bin/sim.test ./internal/proof/sim
	@cd internal/proof/sim && GOGC=400 ../../../bin/sim.test -test.run 'TestSchedules$$' -test.timeout 0 -sim.progress \
		-sim.seeds $(or $(SEEDS),10000) -sim.first $(or $(FIRST),1) -sim.for $(or $(FOR),0) $(FLAGS)

bench: build ## what a step and a run cost on this machine, with FLAGS (docs/contributing/benchmarks.md)
	bin/dormouse bench $(FLAGS)

lint: ## gofmt, go vet, staticcheck, deadcode, actionlint, and the words of public texts
	@bad=$$(gofmt -l .); test -z "$$bad" || { echo "not formatted:"; echo "$$bad"; exit 1; }
	go vet ./...
	go vet -tags noaws ./internal/cli/... ./cmd/dormouse
	$(STATICCHECK) ./...
	@dead=$$($(DEADCODE) -test ./... | grep -vE 'func: Example|^[a-z_]+\.go:'); test -z "$$dead" || { echo "nothing reaches:"; echo "$$dead"; exit 1; }
	$(ACTIONLINT) .github/workflows/*.yml
	go run ./internal/proof/voice

vuln: ## known vulnerabilities in what the programs call (needs vuln.go.dev)
	.ci/vuln

tails: ## the longest files and functions and the widest types, and their limits
	go run ./internal/proof/tails $(FLAGS)

fuzz: ## every fuzzer for TIME each (10s); a failing input is kept and its path printed
	.ci/fuzz $(or $(TIME),10s)

deploy: ## build and deploy to AWS: STAGE of samconfig.toml (default or prod), STACK to name another stack; computes the parameter Version
	tools/deploy $(or $(STAGE),default) $(STACK)

sam: ## sam validate, cfn-lint and sam build, for arm64 (needs Python; the tools are kept in ~/.cache)
	.ci/sam

e2e: ## the deployed shape on this machine: real template, built functions, servers that others wrote (needs Python, Java, Maven, Rust)
	go run ./internal/proof/e2e $(FLAGS)

planted: ## puts deliberate faults into the code; the simulator must find each one
	go run ./internal/proof/sim/planted $(FLAGS)

# The workflow that publishes has the same version.
GORELEASER ?= go run github.com/goreleaser/goreleaser/v2@v2.16.0

dist: ## everything that a release consists of, into dist/ (docs/contributing/releasing.md)
	$(GORELEASER) release --snapshot --clean
	$(MAKE) --no-print-directory image

image: ## the container image, as an OCI layout in dist/image, from the programs in dist/
	go -C tools/release run ./image -out ../../dist/image -license ../../LICENSE \
		-version $(VERSION) -revision $(shell git rev-parse HEAD) -created $(shell git log -1 --format=%ct) \
		-binary linux/amd64=../../dist/dormouse_linux_amd64_v1/dormouse -binary linux/arm64=../../dist/dormouse_linux_arm64_v8.0/dormouse

ci: ## what the runner does: lint, test, sim, planted faults, fuzz, schemathesis, demo, recordings with faults
	.ci/run
