# SPDX-License-Identifier: Apache-2.0

"""The content of the pages about published results."""

import link_page
import modules_page
import offload_page
import restart_page
import rtnl_page
import table_page
import upcall_page
from bench_plot import rst_table
from bench_report import verdict
from bench_results import ResultsError, releases_since

# By benchmark, the prefixes of names of results.
PAGES = {"upcalls": upcall_page, "rtnl": rtnl_page, "links": link_page,
         "offload": offload_page, "modules": modules_page,
         "restart": restart_page, "table": table_page}


def literal(text):
    return f"``{text}``"


def daemon_text(name, daemon, with_flags):
    """Returns a sentence about one of the daemons."""
    text = f"``{name}`` is {daemon.get('version') or 'not known'}"
    if daemon.get("package"):
        text += f", package {literal(daemon['package'])}"
    if with_flags and daemon.get("flags"):
        text += f", built with {literal(daemon['flags'])}"
    return text + "."


def provenance_text(entry):
    """Returns the text about the origin of results."""
    p = entry["provenance"]
    kernel = entry.get("kernel") or p.get("kernel")
    text = (f"Measured on {p['date']}: ovs-kdp {p['version']}, commit "
            f"{literal(p['commit'])}"
            + (f"; Linux {kernel}" if kernel else ""))
    if "rounds" in p:
        text += ("; one round" if p["rounds"] == 1
                 else f"; medians of {p['rounds']} rounds")
    if p.get("rounds", 1) > 1 and p.get("spread", True):
        text += (", with the least and the largest value in parentheses where "
                 "they are more than 2 % apart")
    text += "."
    daemons = p.get("daemons", {})
    # The same flags say nothing about a difference.
    with_flags = len({daemon.get("flags") for daemon in daemons.values()}) > 1
    for name, daemon in daemons.items():
        text += " " + daemon_text(name, daemon, with_flags)
    for note in p.get("notes", []):
        text += " " + note
    return (f"{text}  To measure it again, with that commit::\n\n"
            f"    {p['command']}")


def age_text(entry, since=releases_since):
    """Returns a warning if results are older than the code by more than a
    release, or None."""
    measured = entry["provenance"]["version"]
    n = since(measured)
    if n is not None and n <= 1:
        return None
    ahead = (f"There were {n} releases since then" if n is not None
             else "That version is not known")
    return (".. warning::\n\n"
            f"   These figures are of version {measured}. {ahead}: the code "
            "may do better or worse now.")


def key_of(target):
    return f"{target.get('configuration', '')} {target['target']}".strip()


def sentence(target, sentences):
    """Returns why a target is missed: the sentence for its configuration, or
    for all."""
    return sentences.get(key_of(target), sentences.get(target["target"]))


def not_met(entry):
    return [t for t in entry.get("targets", [])
            if t.get("holds", t.get("result") != "not met") is False]


def unexplained(name, published):
    """Returns the missed targets of result 'name' without a sentence."""
    entry = published["results"][name]
    sentences = published["sentences"].get(name, {})
    return [key_of(t) for t in not_met(entry) if not sentence(t, sentences)]


def target_table(found):
    with_configuration = any("configuration" in t for t in found)
    head = ["target", "measured", "limit", "result"]
    rows = [[t["what"], f"{t['value']:,.3f}", f"{t['sense']} {t['limit']:g}",
             verdict(t)] for t in found]
    if with_configuration:
        head.insert(0, "configuration")
        rows = [[t["configuration"], *row] for t, row in zip(found, rows)]
    return rst_table(rows, head)


def targets_text(entry, sentences):
    """Returns how many targets hold, a table of the others, and why some are
    missed."""
    others = [t for t in entry.get("targets", []) if "holds" in t]
    n = entry.get("targets_set", 0)
    text = []
    if n:
        text.append(f"{n - len(others)} of {n} targets hold"
                    + (".  The others:" if others else "."))
    if others:
        text.append(target_table(others))
    said = {}
    for t in not_met(entry):
        said.setdefault(sentence(t, sentences), []).append(t)
    for reason, missed in said.items():
        names = ", ".join(dict.fromkeys(
            t.get("what", t["target"]) for t in missed))
        who = ", ".join(dict.fromkeys(literal(t["configuration"])
                                      for t in missed
                                      if "configuration" in t))
        text.append(f"* Missed{' by ' + who if who else ''}: {names}.  "
                    f"{reason}")
    return text


def page_text(name, published):
    """Returns the content of a page about result 'name', in
    reStructuredText."""
    missing = unexplained(name, published)
    if missing:
        raise ResultsError(f"{name}: no sentence says why these targets are "
                           f"missed: {'; '.join(missing)}")
    entry = published["results"][name]
    blocks = [".. Made by utilities/bench/make-pages."]
    warning = age_text(entry)
    if warning:
        blocks.append(warning)
    blocks.append(provenance_text(entry))
    blocks += PAGES[entry["benchmark"]].tables(entry)
    blocks += targets_text(entry, published["sentences"].get(name, {}))
    return "\n\n".join(blocks) + "\n"
