.PHONY: up test check

up test check:
	./run $@
