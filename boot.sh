#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes ./configure from configure.ac.  Run it once after a clone.
set -e
cd "$(dirname "$0")"
autoreconf --install --force --warnings=all,no-portability
