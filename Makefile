# `make` lists what there is. Each target sets up what it needs; a second run of it finds that done.

V := .venv/bin
ARGS ?=
REAL := $(wildcard tests/wire tests/models tests/asterisk tests/cluster)

.DEFAULT_GOAL := help
.PHONY: help run demo check check-style check-types check-unit check-property test test-ray test-vllm test-systemd fuzz audit bench load fetch clean

help:
	@echo 'make run      start everything: call sip:1000@127.0.0.1:5060 and talk (Ctrl-C stops it)'
	@echo 'make demo     start everything, place a call with recorded questions, show what was said and how fast'
	@echo 'make test     all tests, with a real Asterisk and real models'
	@echo 'make test-ray   only the tests of a Ray cluster and of what deploy/ holds'
	@echo 'make check    lint, types, import rules and the quick tests, in under a minute'
	@echo 'make test-vllm    the language model worker with vLLM itself, on the CPU (downloads 850 MB, keeps 3.3 GB)'
	@echo 'make test-systemd    the units of deploy/ under systemd itself, in a container (root, Debian; downloads 450 MB)'
	@echo 'make fuzz     look for inputs that a parser fails on; ARGS="rtp --seconds 300" for one of tests/fuzz/targets'
	@echo 'make audit    ask for known weaknesses of the pinned packages (network)'
	@echo 'make bench NAME=response ARGS=--quick    one of benchmarks/'
	@echo 'make load     how many calls at a time this machine carries, with SIPp; ARGS="--calls 1,8" for a shorter ladder'
	@echo 'make fetch    download everything, so that the machine can go offline'
	@echo 'make clean    remove what was made here (models stay in ~/.cache/voicebot)'
	@echo
	@echo 'ARGS goes to the command: make run ARGS="-c my.yaml". PYTHON=... chooses the Python (3.11 to 3.13).'

run:
	@scripts/setup.sh run
	@$(V)/voicebot up $(ARGS)

demo:
	@scripts/setup.sh run
	@$(V)/voicebot demo $(ARGS)

fetch:
	@scripts/setup.sh run
	@$(V)/voicebot fetch $(ARGS)

check:
	@scripts/setup.sh dev
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target check-unit check-style check-types check-property

check-style:
	$(V)/ruff check .
	$(V)/ruff format --check .
	$(V)/lint-imports

check-types:
	$(V)/mypy .

# side by side: what failed last is kept for the tests that `make test` runs again
check-unit check-property: check-%:
	$(V)/pytest -q -p no:cacheprovider tests/$*

test: check
	$(V)/python -m tests.fuzz --seed 1
	@scripts/ray.sh
	$(V)/voicebot fetch --for-tests
	$(V)/pytest $(REAL) $(ARGS) || { code=$$?; [ $$code -eq 1 ] || exit $$code; \
		echo 'Once more, only what failed: these tests run in real time, and the machine may be shared.' \
			'What fails again is a fault, and so is what counts.'; \
		VOICEBOT_SECOND_GO=1 $(V)/pytest --last-failed $(REAL) $(ARGS); }

test-vllm:
	@scripts/setup.sh dev
	@$(V)/python -m tests.vllm.prepare
	$(V)/pytest tests/vllm $(ARGS)

test-ray:
	@scripts/ray.sh
	@$(V)/voicebot fetch --for-tests
	$(V)/pytest tests/cluster $(ARGS)

test-systemd:
	@tests/systemd/machine.sh $(ARGS)

fuzz:
	@scripts/setup.sh dev
	@$(V)/python -m tests.fuzz $(ARGS)

audit:
	@scripts/setup.sh dev
	@scripts/audit.sh $(ARGS)

bench:
	@scripts/setup.sh dev
	@test -n '$(NAME)' && test -f 'benchmarks/$(NAME).py' || { echo 'make bench NAME=... with one of:' \
		$(filter-out __init__ report stt_% turns_% %_worker,$(basename $(notdir $(wildcard benchmarks/*.py)))) >&2; exit 2; }
	@$(V)/python -m benchmarks.$(NAME) $(ARGS)

load:
	@scripts/setup.sh dev
	@$(V)/python -m benchmarks.load $(ARGS)

clean:
	rm -rf .venv var build *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -not -path './.git/*' -prune -exec rm -rf {} +
