# SPDX-License-Identifier: Apache-2.0
"""Code that the tools of ovs-kdp share."""
