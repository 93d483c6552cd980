/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "unixctl/fields.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "util.h"

static const void *
field_member(const struct field *field, const void *object)
{
    return object ? (const char *) object + field->offset : NULL;
}

static size_t
field_count(const struct field *field)
{
    return field->size / sizeof(uint64_t);
}

static struct json *
count_to_json(const void *counts, size_t i)
{
    return json_integer_create(((const uint64_t *) counts)[i]);
}

static struct json *
field_to_json(const struct field *field, const void *object)
{
    const void *p = field_member(field, object);
    struct json *array;

    switch (field->type) {
    case FIELD_BOOL:
        return json_boolean_create(*(const bool *) p);
    case FIELD_SIGNED:
        return json_integer_create(field->size == 4 ? *(const int32_t *) p
                                   : *(const int64_t *) p);
    case FIELD_UNSIGNED:
        return json_integer_create(field->size == 1 ? *(const uint8_t *) p
                                   : field->size == 2 ? *(const uint16_t *) p
                                   : field->size == 4 ? *(const uint32_t *) p
                                   : *(const uint64_t *) p);
    case FIELD_CHARS:
        return json_string_create(p);
    case FIELD_STRING:
        p = *(const char *const *) p;
        return p ? json_string_create(p) : NULL;
    case FIELD_FUNCTION:
        return field->get(p);
    case FIELD_ARRAY:
        array = json_array_create_empty();
        for (size_t i = 0; i < field_count(field); i++) {
            json_array_add(array, count_to_json(p, i));
        }
        return array;
    case FIELD_COUNTS:
    case FIELD_TABLE:
    case FIELD_LINE:
    case FIELD_END:
    default:
        OVS_NOT_REACHED();
    }
}

void
fields_put_json(struct json *json, const struct field *field,
                const void *object)
{
    for (; field->type != FIELD_END; field++) {
        const void *p = field_member(field, object);
        struct json *value = (!field->name ? NULL
                              : field->type >= FIELD_COUNTS
                              ? json_object_create()
                              : field_to_json(field, object));
        struct json *inner = value ? value : json;

        if (field->type == FIELD_TABLE) {
            fields_put_json(inner, field->table, p);
        } else if (field->type == FIELD_COUNTS) {
            for (size_t i = 0; i < field_count(field); i++) {
                json_object_put(inner, field->names[i], count_to_json(p, i));
            }
        }
        if (value) {
            json_object_put(json, field->name, value);
        }
    }
}

struct json *
fields_to_json(const struct field *fields, const void *object)
{
    struct json *json = json_object_create();

    fields_put_json(json, fields, object);
    return json;
}

struct json *
fields_to_json_array(const struct field *fields, const void *objects,
                     size_t n, size_t size)
{
    struct json *array = json_array_create_empty();

    for (size_t i = 0; i < n; i++) {
        json_array_add(array, fields_to_json(
            fields, (const char *) objects + i * size));
    }
    return array;
}

/* Appends 'value', which it destroys, in a list or a column.  NULL stands for
 * the heading of the column. */
static void
put_text(struct ds *s, const struct field *field, const char *label,
         struct json *value, bool list)
{
    char *text = (!value ? xstrdup(label)
                  : value->type == JSON_INTEGER
                  ? xasprintf("%lld", json_integer(value) / MAX(field->unit,
                                                                1))
                  : xstrdup(value->type == JSON_STRING ? json_string(value)
                            : value->type == JSON_TRUE ? "yes"
                            : value->type == JSON_FALSE ? "no" : "-"));

    if (list) {
        ds_put_format(s, "%s%s%s, ", label, *label ? " " : "", text);
    } else if (field->width) {
        ds_put_format(s, " %*s", field->width, text);
    }
    free(text);
    json_destroy(value);
}

static void
put_texts(struct ds *s, const struct field *field, const void *object,
          bool list)
{
    for (; field->type != FIELD_END; field++) {
        const void *p = field_member(field, object);

        if (field->type == FIELD_LINE) {
            ds_truncate(s, s->length - 2);
            ds_put_format(s, "\n%s: ", field->label);
        } else if (field->type == FIELD_TABLE) {
            put_texts(s, field->table, p, list);
        } else if (field->type == FIELD_COUNTS) {
            for (size_t i = 0; i < field_count(field); i++) {
                put_text(s, field, field->names[i],
                         p ? count_to_json(p, i) : NULL, list);
            }
        } else if (field->label) {
            struct json *value = p ? field_to_json(field, object) : NULL;

            put_text(s, field, field->label,
                     p && !value ? json_null_create() : value, list);
        }
    }
}

void
fields_put_row(struct ds *s, const struct field *fields, const void *object)
{
    put_texts(s, fields, object, false);
}

void
fields_put_list(struct ds *s, const struct field *fields, const void *object)
{
    size_t start = s->length;

    put_texts(s, fields, object, true);
    ds_truncate(s, MAX(s->length, start + 2) - 2);
}

void
fields_put_lines(struct ds *s, const char *title, const struct field *fields,
                 const void *object)
{
    ds_put_format(s, "%s: ", title);
    fields_put_list(s, fields, object);
    ds_put_char(s, '\n');
}

void
fields_put_rows(struct ds *s, const char *number, const struct field *fields,
                const void *objects, size_t n, size_t size)
{
    ds_put_format(s, number ? "  %7s" : " ", number);
    fields_put_row(s, fields, NULL);
    ds_put_char(s, '\n');
    for (size_t i = 0; i < n; i++) {
        ds_put_format(s, number ? "  %7"PRIuSIZE : " ", i);
        fields_put_row(s, fields, (const char *) objects + i * size);
        ds_put_char(s, '\n');
    }
}

bool
fields_get(const struct field *field, const char *label, const void *object,
           long long int *value)
{
    for (; field->type != FIELD_END; field++) {
        const void *p = field_member(field, object);

        if (field->type == FIELD_TABLE) {
            if (fields_get(field->table, label, p, value)) {
                return true;
            }
        } else if (field->label && !strcmp(field->label, label)) {
            struct json *json = p ? field_to_json(field, object) : NULL;

            *value = json ? json_integer(json) : 0;
            json_destroy(json);
            return true;
        }
    }
    return false;
}
