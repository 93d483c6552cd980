#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Replays the seeds of folder corpus/, each with the harness that its folder is
# called after.  Runs in the build directory.
set -e
for dir in "$srcdir"/tests/fuzz/corpus/*/; do
    "tests/fuzz/$(basename "$dir")" --corpus "$dir"
done
