# SPDX-License-Identifier: Apache-2.0

"""Runs the switch tests of os-ken, with the options of its configuration.
os-ken has no program of its own that starts applications."""

import os
import sys

# The tests limit waits in a way that needs it: the default are real threads.
os.environ["OSKEN_HUB_TYPE"] = "eventlet"

from os_ken.lib import hub  # noqa: E402

hub.patch(thread=False)

# Each import declares its options.
from os_ken import cfg, flags, log  # noqa: E402,F401
from os_ken.base.app_manager import AppManager  # noqa: E402
from os_ken.controller import controller  # noqa: E402,F401

log.early_init_log()
cfg.CONF(sys.argv[1:], project="os_ken", default_config_files=[])
log.init_log()
AppManager.run_apps(["os_ken.tests.switch.tester"])
