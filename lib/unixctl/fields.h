/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UNIXCTL_FIELDS_H
#define KDP_UNIXCTL_FIELDS_H 1

/* Fields
 * ======
 *
 * A table of fields describes the members of a structure once, for the JSON
 * and the text of the commands that show it:
 *
 *     static const struct field group_fields[] = {
 *         FIELD(struct group, wakeups, "wakeups", "wakeups", 12),
 *         FIELD(struct group, quantum, "quantum"),
 *         { .type = FIELD_END }
 *     };
 *
 * Text shows the JSON value: "yes" or "no" for a boolean, and "-" for null or
 * for a member that is left out.
 *
 * Thread safety: pure functions of their arguments. */

#include <stdbool.h>
#include <stddef.h>

struct ds;
struct json;

enum field_type {
    FIELD_END,                  /* Ends the table. */
    FIELD_LINE,                 /* Starts a new line of a list. */
    FIELD_BOOL,
    FIELD_SIGNED,               /* Integers of any size. */
    FIELD_UNSIGNED,
    FIELD_CHARS,                /* String in an array. */
    FIELD_STRING,               /* Pointer to one; NULL leaves it out. */
    FIELD_FUNCTION,             /* A function returns the value. */
    FIELD_ARRAY,                /* Array of uint64_t; not in text. */
    FIELD_COUNTS,               /* Array of uint64_t with a name for each. */
    FIELD_TABLE,                /* Structure with fields of its own. */
};

struct field {
    enum field_type type;
    size_t offset, size;        /* Place of the member, bytes. */
    const char *name;           /* In JSON, or NULL.  Counts and tables without
                                 * a name put their members into the object
                                 * around them. */
    const char *label;          /* In text, or NULL; counts have their names
                                 * instead. */
    int width;                  /* Columns in text, negative to align to
                                 * the left; 0 if it has no column. */
    long long int unit;         /* Text shows the value divided by this; 0 for
                                 * 1. */
    const char *const *names;   /* FIELD_COUNTS. */
    const struct field *table;  /* FIELD_TABLE. */
    struct json *(*get)(const void *member);    /* FIELD_FUNCTION.  May return
                                                 * NULL, as for strings. */
};

#define FIELD_MEMBER(STRUCT, MEMBER)                                    \
    .offset = offsetof(STRUCT, MEMBER), .size = sizeof ((STRUCT *) 0)->MEMBER

#define FIELD_OF_LINE(TITLE) { .type = FIELD_LINE, .label = TITLE }

/* Field MEMBER of STRUCT.  Its name, label, width and unit follow; any but the
 * name may be missing.  An array differs from a pointer in its address. */
#define FIELD(STRUCT, MEMBER, ...)                                          \
    { .type = _Generic(&((STRUCT *) 0)->MEMBER,                             \
                       char **: FIELD_STRING, const char **: FIELD_STRING,  \
                       default: _Generic(((STRUCT *) 0)->MEMBER,            \
                           bool: FIELD_BOOL, char *: FIELD_CHARS,           \
                           int: FIELD_SIGNED, long int: FIELD_SIGNED,       \
                           long long int: FIELD_SIGNED,                     \
                           default: FIELD_UNSIGNED)),                       \
      FIELD_MEMBER(STRUCT, MEMBER), .name = __VA_ARGS__ }
#define FIELD_OF_FUNCTION(STRUCT, MEMBER, GET, ...)                         \
    { .type = FIELD_FUNCTION, FIELD_MEMBER(STRUCT, MEMBER), .get = GET,     \
      .name = __VA_ARGS__ }
#define FIELD_OF_ARRAY(STRUCT, MEMBER, NAME)                                \
    { .type = FIELD_ARRAY, FIELD_MEMBER(STRUCT, MEMBER), .name = NAME }
#define FIELD_OF_COUNTS(STRUCT, MEMBER, NAMES, ...)                         \
    { .type = FIELD_COUNTS, FIELD_MEMBER(STRUCT, MEMBER), .names = NAMES,   \
      .name = __VA_ARGS__ }
#define FIELD_OF_TABLE(STRUCT, MEMBER, TABLE, NAME)                         \
    { .type = FIELD_TABLE, FIELD_MEMBER(STRUCT, MEMBER), .table = TABLE,    \
      .name = NAME }

/* Puts the fields of 'object' into 'json', or returns them as a new object.
 * fields_to_json_array() returns an array with an object for each of 'n'
 * structures of 'size' bytes. */
void fields_put_json(struct json *json, const struct field *,
                     const void *object);
struct json *fields_to_json(const struct field *, const void *object);
struct json *fields_to_json_array(const struct field *, const void *objects,
                                  size_t n, size_t size);

/* Append the columns of 'object', or their headings if that is NULL, to 's',
 * each after a blank; or "LABEL VALUE, LABEL VALUE". */
void fields_put_row(struct ds *s, const struct field *, const void *object);
void fields_put_list(struct ds *s, const struct field *, const void *object);

/* Appends lines that list 'object'.  The first one starts with 'title'. */
void fields_put_lines(struct ds *s, const char *title, const struct field *,
                      const void *object);

/* Appends the headings, then a line for each of 'n' structures of 'size'
 * bytes.  If 'number' is not NULL, it is the heading of the first column, with
 * the index of the structure. */
void fields_put_rows(struct ds *s, const char *number, const struct field *,
                     const void *objects, size_t n, size_t size);

/* Finds the field of integers with that label.  Stores its value in 'object',
 * unless that is NULL, in '*value'.  Returns false if there is none. */
bool fields_get(const struct field *, const char *label, const void *object,
                long long int *value);

#endif /* lib/unixctl/fields.h */
