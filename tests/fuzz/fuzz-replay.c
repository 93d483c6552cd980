/* SPDX-License-Identifier: Apache-2.0 */

/* Runs a fuzz harness without a fuzzer.
 *
 *     fuzz-X                 the seeds, every beginning of each, and each with
 *                            every byte changed in several ways
 *     fuzz-X --seeds DIR     write the seeds to files in DIR
 *     fuzz-X --corpus DIR    the files in DIR in the same way as seeds; the
 *                            parser has to accept each as it is
 *     fuzz-X FILE...         the inputs in the files, as a fuzzer left them */

#include <config.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"

/* Bytes of a seed that are changed.  What comes after so many is the rest of a
 * packet, at which no parser here looks. */
#define CHANGED_MAX 1024

/* What single bytes are replaced by: the ends of the range, small lengths and
 * neighbours of the original. */
static void
replay_with_changed_bytes(const void *seed, size_t size)
{
    static const uint8_t values[] = { 0, 1, 2, 3, 4, 5, 8, 13, 16, 32, 64, 127,
                                      128, 254, 255 };
    uint8_t *data = fuzz_copy(seed, size);

    for (size_t i = 0; i < size && i < CHANGED_MAX; i++) {
        uint8_t original = data[i];

        for (size_t j = 0; j < sizeof values; j++) {
            data[i] = values[j];
            LLVMFuzzerTestOneInput(data, size);
        }
        for (int bit = 0; bit < 8; bit++) {
            data[i] = original ^ 1 << bit;
            LLVMFuzzerTestOneInput(data, size);
        }
        data[i] = original + 1;
        LLVMFuzzerTestOneInput(data, size);
        data[i] = original - 1;
        LLVMFuzzerTestOneInput(data, size);
        data[i] = original;
    }
    free(data);
}

static void
replay_seed(const char *name, const void *data, size_t size, void *n_seeds)
{
    printf("seed %s, %zu bytes\n", name, size);
    for (size_t n = 0; n <= size; n++) {
        LLVMFuzzerTestOneInput(data, n);
    }
    replay_with_changed_bytes(data, size);
    ++*(size_t *) n_seeds;
}

static void
fail(const char *what, const char *name)
{
    fprintf(stderr, "%s: ", what);
    perror(name);
    exit(EXIT_FAILURE);
}

static void
write_seed(const char *name, const void *data, size_t size, void *dir_)
{
    const char *dir = dir_;
    char path[4096];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    file = fopen(path, "wb");
    if (!file || fwrite(data, 1, size, file) != size || fclose(file)) {
        fail("writing a seed", path);
    }
}

/* Reads the file called 'path' into memory, which the caller frees. */
static uint8_t *
read_file(const char *path, size_t *sizep)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data = NULL;
    size_t size = 0;
    size_t n;

    if (!file) {
        fail("reading an input", path);
    }
    do {
        data = realloc(data, size + 65536);
        if (!data) {
            fail("reading an input", path);
        }
        n = fread(data + size, 1, 65536, file);
        size += n;
    } while (n);
    fclose(file);
    *sizep = size;
    return data;
}

static void
replay_file(const char *path)
{
    size_t size;
    uint8_t *data = read_file(path, &size);

    printf("%s, %zu bytes\n", path, size);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
}

static int
is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void
replay_corpus(const char *dir)
{
    struct dirent **entries;
    int n = scandir(dir, &entries, is_visible, alphasort);
    size_t n_seeds = 0;

    if (n < 0) {
        fail("reading the directory of the seeds", dir);
    }
    for (int i = 0; i < n; i++) {
        char path[4096];
        uint8_t *data;
        size_t size;

        snprintf(path, sizeof path, "%s/%s", dir, entries[i]->d_name);
        data = read_file(path, &size);
        if (!fuzz_accepts(data, size)) {
            fprintf(stderr, "%s is not accepted\n", path);
            exit(EXIT_FAILURE);
        }
        replay_seed(entries[i]->d_name, data, size, &n_seeds);
        free(data);
        free(entries[i]);
    }
    free(entries);
    fuzz_check(n_seeds > 0);
}

int
main(int argc, char *argv[])
{
    if (argc == 3 && !strcmp(argv[1], "--seeds")) {
        if (mkdir(argv[2], 0777) && access(argv[2], W_OK)) {
            fail("making the directory for the seeds", argv[2]);
        }
        fuzz_seeds(write_seed, argv[2]);
    } else if (argc == 3 && !strcmp(argv[1], "--corpus")) {
        replay_corpus(argv[2]);
    } else if (argc > 1) {
        for (int i = 1; i < argc; i++) {
            replay_file(argv[i]);
        }
    } else {
        size_t n_seeds = 0;

        fuzz_seeds(replay_seed, &n_seeds);
        fuzz_check(n_seeds > 0);
    }
    return EXIT_SUCCESS;
}
