# SPDX-License-Identifier: Apache-2.0

EXTRA_DIST += \
	tests/soak/README.md \
	tests/soak/check-soak \
	tests/soak/soak \
	tests/soak/soak_checks.py \
	tests/soak/soak_kernel.py \
	tests/soak/soak_operations.py \
	tests/soak/soak_switch.py \
	tests/soak/soak_traffic.py

# Everything at once, in a guest: a piece of SOAK_SECONDS, operations being
# chosen by SOAK_SEED, with time limits SOAK_PATIENCE times as long.  A daemon
# lives for SOAK_LIFE intervals of half a minute.  SOAK_ONLY are names of
# operations, with commas between them; no others are done then.
SOAK_SECONDS = 900
SOAK_SEED =
SOAK_PATIENCE = 1
SOAK_LIFE = 5
SOAK_ONLY =
soak: all tests/system/traffic
	$(srcdir)/tests/soak/check-soak --builddir '$(abs_builddir)' \
	    --seconds '$(SOAK_SECONDS)' $(SOAK_SEED:%=--seed '%') \
	    --patience '$(SOAK_PATIENCE)' --life '$(SOAK_LIFE)' \
	    --only '$(SOAK_ONLY)'
.PHONY: soak
