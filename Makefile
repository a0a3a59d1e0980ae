.PHONY: setup format check test-all smoke bench
setup:
	pip install -e '.[dev]'
format:
	ruff check --fix . && ruff format .
check:
	ruff check . && ruff format --check . && mypy && pytest -m "not slow and not notebook"
test-all:
	pytest
smoke:
	pytest tests/training
bench:
	python -m benchmarks.speed && python -m benchmarks.masks
