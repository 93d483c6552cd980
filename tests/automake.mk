# SPDX-License-Identifier: Apache-2.0

include tests/unit/automake.mk
include tests/fuzz/automake.mk
include tests/layers/automake.mk
include tests/models/automake.mk
include tests/ovs/automake.mk
include tests/system/automake.mk
include tests/soak/automake.mk
include tests/kselftest/automake.mk
