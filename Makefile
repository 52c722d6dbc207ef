# `make train` and `make test` are all a fresh machine with Python 3.11 and make needs; each builds .venv first.
PYTHON ?= python3.11
NP ?= 2
NAME ?= limit
ENV ?= Reacher-v5
ARGS ?=
BIN := .venv/bin
TESTS = PATH="$(CURDIR)/$(BIN):$$PATH" python -m pytest -n 2 --dist loadgroup

.PHONY: help train test test-all test-random lab own-algorithm notebooks exercise check-exercise grade docs site slides benchmark pages hashes hosts slurm versions soak lint doctor lock clean
.DEFAULT_GOAL := help

help: ## list all targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 10

train: .venv/ready-core ## train ENV (Reacher-v5) on NP (2) ranks: NP=8 ENV=HalfCheetah-v5 make train
	./run mpiexec -n $(NP) python mpi_scripts/train.py --env $(ENV) $(ARGS)

test: .venv/ready-dev .venv/ready-course ## run the quick tests (five minutes with the set-up)
	$(TESTS) -m "not slow" $(ARGS)

test-all: .venv/ready-dev .venv/ready-course .venv/ready-site ## run all tests, as continuous integration does (twelve minutes)
	$(TESTS) $(ARGS)

test-random: .venv/ready-dev .venv/ready-course ## run the properties on new examples, 400 of each, by hand
	$(TESTS) --hypothesis-profile=random $(ARGS)

lab: .venv/ready-course ## open the course in JupyterLab, copied into LAB (my); ALL=1: its own folder, with all answers
	./run minitrpo lab $(if $(ALL),--all,$(or $(LAB),my)) $(ARGS)

own-algorithm: .venv/ready-core ## copy the example of your own algorithm: make own-algorithm NAME=mine
	./run minitrpo new $(if $(filter limit,$(NAME)),mine,$(NAME))

notebooks: .venv/ready-dev .venv/ready-course ## build student notebooks and executed solutions from notebooks/source
	./run python notebooks/build.py $(ARGS)

exercise: .venv/ready-dev .venv/ready-course ## begin an exercise of a lecture: make exercise LECTURE=04 NAME=step_scale
	./run python notebooks/new_exercise.py "$(LECTURE)" "$(filter-out limit,$(NAME))"

check-exercise: .venv/ready-dev .venv/ready-course ## check your notebook: make check-exercise NB=my/03_conjugate_gradient.ipynb
	./run python -m pytest -q --nbval-lax --nbval-current-env --nbval-cell-timeout=150 -p no:cacheprovider $(NB)

grade: .venv/ready-course ## grade a notebook or a folder of them: make grade NB=submissions (writes grades.csv and texts)
	./run python -m minitrpo grade $(NB) $(ARGS)

docs: .venv/ready-site ## build one site of the course, the pages and the API reference, into site/; ARGS=--answers: for lecturers
	./run python notebooks/site/build.py $(ARGS)

site: docs ## the same as make docs

slides: .venv/ready-site ## build slides of the lectures, into slides/
	./run python notebooks/site/build.py --slides $(ARGS)

benchmark: .venv/ready-bench ## run what is missing of an experiment: make benchmark NAME=limit (python -m experiments list names them)
	./run python -m experiments run $(NAME) $(ARGS)

pages: .venv/ready-course ## write all tables and pictures of pages from what is recorded
	./run python -m experiments page
	./run python tests/tools/report.py
	./run python notebooks/concepts.py

hashes: .venv/ready-core ## whether a change changes a bit: compare 150 short runs with those of AGAINST (HEAD)
	./run python tests/tools/hashes.py --against $(or $(AGAINST),HEAD) $(ARGS)

hosts: .venv/ready-core ## the family over several hosts (network namespaces), and a cable that is cut
	./run python tests/tools/hosts.py $(ARGS)

slurm: .venv/ready-core ## jobs of a real Slurm on this machine: srun, sbatch, preemption
	./run python tests/tools/slurm.py $(ARGS)

versions: .venv/ready-core ## the tests on the lowest versions of everything, newer Pythons, Open MPI
	./run python tests/tools/versions.py $(ARGS)

soak: .venv/ready-core ## kill KILLS (300) runs of the whole family, then watch 8 ranks for SECONDS (3600)
	./run python tests/tools/soak.py --kills $(or $(KILLS),300) --seconds $(or $(SECONDS),3600) $(ARGS)

lint: .venv/ready-dev .venv/ready-course ## check style, types, and the rules of code and pages
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python tests/tools/lint.py

doctor: .venv/ready-core ## test what this machine can run, and an environment: make doctor ENV=Hopper-v5
	./run python -m minitrpo doctor $(if $(filter-out file,$(origin ENV)),--env $(ENV))

lock: ## update requirements.lock to the newest versions that pyproject.toml allows
	rm -rf .venv-lock && $(PYTHON) -m venv .venv-lock
	.venv-lock/bin/pip install -q '.[dev,course,bench,site]'
	.venv-lock/bin/pip freeze --exclude minitrpo | LC_ALL=C sort -f > requirements.lock
	rm -rf .venv-lock build *.egg-info

clean: ## remove .venv and caches; run folders stay
	rm -rf .venv build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis

# One environment for all; what is installed grows with what is asked for. Pins come from requirements.lock alone.
.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/ready-core: .venv/bin/python pyproject.toml requirements.lock
	$(BIN)/python -m pip install -q --disable-pip-version-check -c requirements.lock -e .
	@touch $@

.venv/ready-dev: .venv/ready-core
	$(BIN)/python -m pip install -q --disable-pip-version-check -c requirements.lock -e '.[dev]'
	@touch $@

.venv/ready-bench: .venv/ready-core
	$(BIN)/python -m pip install -q --disable-pip-version-check -c requirements.lock -e '.[bench]'
	@touch $@

.venv/ready-site: .venv/ready-course
	$(BIN)/python -m pip install -q --disable-pip-version-check -c requirements.lock -e '.[site]'
	@touch $@

.venv/ready-course: .venv/ready-core
	$(BIN)/python -m pip install -q --disable-pip-version-check -c requirements.lock -e '.[course]'
	@touch $@
