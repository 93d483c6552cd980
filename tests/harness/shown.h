/* SPDX-License-Identifier: Apache-2.0 */

#ifndef HARNESS_SHOWN_H
#define HARNESS_SHOWN_H 1

/* Output of commands, for a test of their schemas
 * ================================================
 *
 * A test that has the JSON of a command passes it here.  If the environment
 * variable UNIT_SHOWN names a file, the JSON is appended to it as a line,
 * after 'schema' and a tab: tests/unit/utilities/test-schemas.py does that. */

struct json;

/* 'schema' is the name of a file in utilities/schemas without ".json",
 * optionally with "#" and the name of a definition in it. */
void unit_shown(const char *schema, const struct json *);

#endif /* tests/harness/shown.h */
