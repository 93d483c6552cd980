# SPDX-License-Identifier: Apache-2.0
"""Masks addresses in text, so that a bundle can be given to others.

An address gets the same name wherever it occurs, so that a reader can still
tell which addresses are the same.  Addresses that reveal nothing about a
network, such as those of loopback, stay.
"""

import ipaddress
import re

def after(*ends):
    """A pattern for the place behind a minus sign that follows one of 'ends',
    each of a fixed width."""
    return "|".join("(?<=%s-)" % end for end in ends)


# Candidates, which are checked afterwards.  Times and ids of flows look like
# addresses, too.  Some programs omit leading zeros of a MAC address.  A minus
# sign follows the first address of a range, or is part of a name.
MAC = re.compile(r"(?<![0-9A-Fa-f:-])(?:(?:[0-9A-Fa-f]{1,2}:){5}"
                 r"[0-9A-Fa-f]{1,2}|(?:[0-9A-Fa-f]{2}:){6,}[0-9A-Fa-f]{2})"
                 r"(?![0-9A-Fa-f:])"
                 r"|(?<![0-9A-Za-z-])(?:[0-9A-Fa-f]{2}-){5,}[0-9A-Fa-f]{2}"
                 r"(?![0-9A-Za-z-])")
IPV4 = re.compile(r"(?:(?<![0-9A-Za-z.-])|"
                  + after(r"\.[0-9]", r"\.[0-9]{2}", r"\.[0-9]{3}") + ")"
                  r"(?:[0-9]{1,3}\.){3}[0-9]{1,3}(?![0-9A-Za-z]|\.[0-9])")
IPV6 = re.compile(r"(?:(?<![0-9A-Za-z:.-])|"
                  + after(":", *(r":[0-9A-Fa-f]{%d}" % n
                                 for n in range(1, 5))) + ")"
                  r"[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4})"
                  r"{2,7}(?:[0-9]{0,3}(?:\.[0-9]{1,3}){3})?(?![0-9A-Za-z:])")
# By default these contain the MAC address of the bridge, or of a card.
DPID = re.compile(r"((?:datapath[ _-]id|dpid)[ :=\"]*)([0-9a-f]{16})\b", re.I)
CARD_ID = re.compile(r"((?:phys_)?(?:switch_?id|port_?id)[ :=\"]*)"
                     r"([0-9a-f]{12,})\b", re.I)
PLAIN_MACS = ("00:00:00:00:00:00", "ff:ff:ff:ff:ff:ff")


class Masker:
    """Assigns names to addresses."""

    def __init__(self):
        self.names = {}

    def _name(self, kind, address):
        key = (kind, address)
        if key not in self.names:
            n = sum(other == kind for other, _ in self.names)
            self.names[key] = "%s-%d" % (kind, n + 1)
        return self.names[key]

    def _mac(self, match):
        address = ":".join("%02x" % int(part, 16)
                           for part in re.split("[:-]", match.group()))
        return (match.group() if address in PLAIN_MACS
                else self._name("mac", address))

    def _labelled(self, kind):
        return lambda match: match.group(1) + self._name(
            kind, match.group(2).lower())

    def _ip(self, match):
        try:
            address = ipaddress.ip_address(match.group())
        except ValueError:
            return match.group()
        if address.is_loopback or address.is_unspecified or str(
                address).startswith("255."):
            return match.group()
        return self._name("ipv%d" % address.version, str(address))

    def mask(self, text):
        """'text' without addresses."""
        text = DPID.sub(self._labelled("dpid"), MAC.sub(self._mac, text))
        text = CARD_ID.sub(self._labelled("card"), text)
        return IPV4.sub(self._ip, IPV6.sub(self._ip, text))
