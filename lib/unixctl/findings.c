/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "unixctl/findings.h"

#include <stdarg.h>
#include <stdlib.h>

#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "unixctl/args.h"
#include "util.h"

struct source {
    findings_source_func *func;
    void *aux;
};

static struct source *sources;
static size_t n_sources, allocated_sources;

void
findings_init(struct findings *findings)
{
    findings->array = NULL;
    findings->n = findings->allocated = 0;
}

void
findings_uninit(struct findings *findings)
{
    for (size_t i = 0; i < findings->n; i++) {
        free(findings->array[i].what);
    }
    free(findings->array);
}

void
findings_add(struct findings *findings, const struct finding_kind *kind,
             const char *format, ...)
{
    struct finding *finding;
    va_list args;

    if (findings->n >= findings->allocated) {
        findings->array = x2nrealloc(findings->array, &findings->allocated,
                                     sizeof *findings->array);
    }
    finding = &findings->array[findings->n++];
    finding->kind = kind;
    va_start(args, format);
    finding->what = xvasprintf(format, args);
    va_end(args);
}

void
findings_to_text(const struct findings *findings, struct ds *s)
{
    for (size_t i = 0; i < findings->n; i++) {
        const struct finding *finding = &findings->array[i];

        ds_put_format(s, "%s: %s\n    %s  %s\n", finding->kind->name,
                      finding->what, finding->kind->why,
                      finding->kind->advice);
    }
    if (!findings->n) {
        ds_put_cstr(s, "nothing was found to be wrong\n");
    }
}

struct json *
findings_to_json(const struct findings *findings)
{
    struct json *array = json_array_create_empty();

    for (size_t i = 0; i < findings->n; i++) {
        const struct finding *finding = &findings->array[i];
        struct json *json = json_object_create();

        json_object_put_string(json, "name", finding->kind->name);
        json_object_put_string(json, "what", finding->what);
        json_object_put_string(json, "why", finding->kind->why);
        json_object_put_string(json, "advice", finding->kind->advice);
        json_array_add(array, json);
    }
    return array;
}

void
findings_register_source(findings_source_func *func, void *aux)
{
    if (n_sources >= allocated_sources) {
        sources = x2nrealloc(sources, &allocated_sources, sizeof *sources);
    }
    sources[n_sources++] = (struct source) { func, aux };
}

void
findings_collect(struct findings *findings)
{
    for (size_t i = 0; i < n_sources; i++) {
        sources[i].func(findings, sources[i].aux);
    }
}

static char *
kdp_doctor(const char *arg OVS_UNUSED, struct ds *text, struct json **json,
           void *aux OVS_UNUSED)
{
    struct findings findings;

    findings_init(&findings);
    findings_collect(&findings);
    if (json) {
        *json = findings_to_json(&findings);
    } else {
        findings_to_text(&findings, text);
    }
    findings_uninit(&findings);
    return NULL;
}

void
findings_register_command(void)
{
    show_args_register("kdp/doctor", "[--format text|json]", NULL, kdp_doctor,
                       NULL);
}
