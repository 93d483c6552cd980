/* SPDX-License-Identifier: Apache-2.0 */

#ifndef HARNESS_SHOWN_H
#define HARNESS_SHOWN_H 1

/* What commands show, for a test of their schemas
 * ===============================================
 *
 * A test that has JSON of a command in its hands passes it here.  If the
 * environment names a file, UNIT_SHOWN, the JSON is appended to it as a line,
 * after 'schema' and a tab: tests/unit/utilities/test-schemas.py does that. */

struct json;

/* 'schema' is the name of a file in utilities/schemas without ".json", and
 * after a "#" that of a definition in it. */
void unit_shown(const char *schema, const struct json *);

#endif /* tests/harness/shown.h */
