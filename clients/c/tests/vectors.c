/* Runs the test vectors: each floor as bytes and as structs, on threads with small stacks, and every error. Reads lines
 * of `.ci/c` from standard input, `NAME REQUEST FILE TERRAIN REGION`: a GetFloorRequest in hexadecimal, the file of the
 * encoded floor, and the digits of its cells, or `-`.
 *
 *   vectors FOLDER PACK <LINES */
#define _GNU_SOURCE /* pthread_attr_setstacksize */
#include <floor_gen.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STACK (128 * 1024)
#define LINE (2 << 20)

static int wrong;

#define EXPECT(condition)                                                        \
    do {                                                                         \
        if (!(condition)) {                                                      \
            printf("%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);     \
            wrong++;                                                             \
        }                                                                        \
    } while (0)

/* The rest of a message, and the last field that was read from it. */
typedef struct {
    const uint8_t *next, *end;
    uint32_t field;
    uint64_t number;        /* of a varint, or of 8 bytes */
    const uint8_t *bytes;   /* of a text or a message */
    size_t length;
} reader;

static reader read_message(const uint8_t *bytes, size_t length) {
    return (reader){.next = bytes, .end = bytes + length};
}

static uint64_t read_varint(reader *r) {
    uint64_t value = 0;
    for (int shift = 0; r->next < r->end && shift < 64; shift += 7) {
        uint8_t byte = *r->next++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) break;
    }
    return value;
}

/* Reads the next field. Whether there is one. */
static int read_field(reader *r) {
    if (r->next >= r->end) return 0;
    uint64_t tag = read_varint(r);
    r->field = (uint32_t)(tag >> 3);
    switch (tag & 7) {
    case 0: r->number = read_varint(r); return 1;
    case 1:
        r->number = 0;
        for (int i = 0; i < 8; i++) r->number |= (uint64_t)*r->next++ << (8 * i);
        return 1;
    default:
        r->length = (size_t)read_varint(r);
        r->bytes = r->next;
        r->next += r->length;
        return 1;
    }
}

/* The numbers of a message by their fields; those that it does not have are 0. */
typedef struct { uint64_t of[8]; reader at[8]; } fields;

static fields read_fields(const reader *message) {
    fields found = {0};
    reader r = read_message(message->bytes, message->length);
    while (read_field(&r)) {
        found.of[r.field] = r.number;
        found.at[r.field] = r;
    }
    return found;
}

static int same_point(const reader *message, floor_gen_point at) {
    fields point = read_fields(message);
    return point.of[1] == at.x && point.of[2] == at.y;
}

static int same_text(const reader *r, const char *text) {
    return r->length == strlen(text) && strncmp((const char *)(r->bytes ? r->bytes : (const uint8_t *)""), text, r->length) == 0;
}

/* Compares the structs with the message, in which lists are in their order. */
static void compare(const floor_gen_floor *floor, const floor_gen_bytes *bytes) {
    uint32_t rooms = 0, connections = 0, spawns = 0, items = 0, locks = 0, traps = 0, furniture = 0, landmark = 0, texts = 0;
    const floor_gen_names *names = floor_gen_floor_names(floor);
    reader r = read_message(bytes->data, bytes->length);
    while (read_field(&r)) {
        fields f = {0};
        if (r.field == 1 || (r.field >= 8 && r.field <= 14) || r.field == 18 || r.field == 19 || r.field == 21) f = read_fields(&r);
        switch (r.field) {
        case 1:
            EXPECT(f.of[1] == floor->seed && f.of[2] == floor->number && f.of[3] == floor->width);
            EXPECT(f.of[4] == floor->height && f.of[5] == floor->kind && same_text(&f.at[6], floor->pack));
            EXPECT(f.of[7] == floor->view);
            break;
        case 2: EXPECT(r.number == floor->generator_version && r.number == floor_gen_version()); break;
        case 6: EXPECT(same_point(&r, floor->entry)); break;
        case 7: EXPECT(same_point(&r, floor->exit)); break;
        case 8: {
            const floor_gen_room *room = &floor->rooms[rooms++];
            EXPECT(f.of[1] == room->id && f.of[4] == room->role && same_point(&f.at[2], room->min));
            EXPECT(same_point(&f.at[3], room->max) && same_point(&f.at[5], room->center));
            fields name = read_fields(&f.at[6]);
            EXPECT(same_text(&name.at[1], names->room_names[room->id].text));
            break;
        }
        case 9: {
            const floor_gen_connection *c = &floor->connections[connections++];
            EXPECT(f.of[1] == c->from_room && f.of[2] == c->to_room && f.of[3] == c->lock_id && f.of[4] == c->secret);
            break;
        }
        case 10: {
            const floor_gen_spawn *spawn = &floor->spawns[spawns++];
            EXPECT(same_point(&f.at[1], spawn->at) && same_text(&f.at[2], spawn->archetype));
            EXPECT(f.of[3] == spawn->level && f.of[4] == spawn->behaviour && f.of[5] == spawn->group);
            break;
        }
        case 11: {
            const floor_gen_item *item = &floor->items[items++];
            EXPECT(same_point(&f.at[1], item->at) && same_text(&f.at[2], item->archetype));
            EXPECT(f.of[3] == item->value && f.of[4] == item->opens_lock);
            break;
        }
        case 12:
            EXPECT(f.of[1] == floor->locks[locks].id && same_point(&f.at[2], floor->locks[locks].at));
            locks++;
            break;
        case 13:
            EXPECT(f.of[1] == floor->critical_path && f.of[2] == floor->passable_cells);
            EXPECT(f.of[3] == floor->loops && f.of[4] == floor->difficulty);
            break;
        case 14: {
            const floor_gen_trap *trap = &floor->traps[traps++];
            EXPECT(same_point(&f.at[1], trap->at) && same_text(&f.at[2], trap->archetype) && f.of[3] == trap->level);
            break;
        }
        case 15: EXPECT(same_text(&r, floor->theme)); break;
        case 16: EXPECT(r.number == floor->pack_hash); break;
        case 17: EXPECT(same_point(&r, floor->landing)); break;
        case 18:
        case 19: {
            const floor_gen_text *text = r.field == 18 ? &names->name : &names->hook;
            EXPECT(same_text(&f.at[1], text->text) && same_text(&f.at[2], text->id));
            texts++;
            break;
        }
        case 20: landmark = (uint32_t)r.number; break;
        case 21: {
            reader cells = read_message(f.at[2].bytes, f.at[2].length);
            for (uint64_t cell = 0; cells.next < cells.end;) {
                cell += read_varint(&cells);
                const floor_gen_furniture *piece = &names->furniture[furniture++];
                EXPECT(piece->at.y * (uint64_t)floor->width + piece->at.x == cell && same_text(&f.at[1], piece->archetype));
            }
            break;
        }
        default: break; /* the content hash, and the grids, which the digits of the cells check */
        }
    }
    EXPECT(rooms == floor->room_count && connections == floor->connection_count && spawns == floor->spawn_count);
    EXPECT(furniture == names->furniture_count && landmark == names->landmark);
    EXPECT(texts == (uint32_t)(names->name.text[0] != 0) + (names->hook.text[0] != 0));
    for (uint32_t i = 0; i < names->name.part_count; i++) EXPECT(names->name.parts[i][0] != 0);
    EXPECT(items == floor->item_count && locks == floor->lock_count && traps == floor->trap_count);
}

/* The way down with all keys: as long as the floor says, unless a player must not know, and over cells that are passable. */
static void check_ways(const floor_gen_floor *floor) {
    uint32_t keys[64] = {0}, steps;
    size_t cells = (size_t)floor->width * floor->height, count = floor->lock_count < 64 ? floor->lock_count : 64;
    for (size_t i = 0; i < count; i++) keys[i] = floor->locks[i].id;
    floor_gen_point *way = calloc(cells, sizeof *way), one[1], party[6];
    uint8_t *reached = calloc(cells, 1);
    size_t length = floor_gen_path(floor, floor->entry, floor->exit, keys, count, way, cells);
    EXPECT(length > 1 && way[0].x == floor->entry.x && way[length - 1].y == floor->exit.y);
    EXPECT(floor_gen_path(floor, floor->entry, floor->exit, keys, count, one, 1) == length && one[0].x == way[0].x);
    steps = (uint32_t)length - 1;
    EXPECT(floor->view == 1 || steps <= floor->critical_path);
    for (size_t i = 0; i < length; i++) EXPECT(floor_gen_passable_with(floor, way[i], keys, count));
    EXPECT(floor_gen_reachable(floor, floor->entry, keys, count, reached) >= length);
    EXPECT(reached[floor->exit.y * (size_t)floor->width + floor->exit.x] == 1);
    EXPECT(floor_gen_starts(floor, party, 6) == 6 && party[0].x == floor->entry.x && party[0].y == floor->entry.y);
    free(way);
    free(reached);
}

/* Compares cells with their hexadecimal digits, `each` for a cell. */
static int same_cells(const floor_gen_floor *floor, const uint8_t *cells, const char *digits, size_t each) {
    size_t count = (size_t)floor->width * floor->height;
    if (strcmp(digits, "-") == 0) return 1;
    if (strlen(digits) != count * each) return 0;
    for (size_t i = 0; i < count; i++) {
        char printed[3];
        snprintf(printed, sizeof printed, each == 1 ? "%x" : "%02x", cells[i]);
        if (memcmp(printed, digits + i * each, each) != 0) return 0;
    }
    return 1;
}

static uint8_t *read_file(const char *folder, const char *name, size_t *length) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (!file) { perror(path); exit(2); }
    uint8_t *bytes = malloc(4 << 20);
    *length = fread(bytes, 1, 4 << 20, file);
    fclose(file);
    return bytes;
}

typedef struct {
    const char *folder, *name, *request, *file, *terrain, *region;
    const floor_gen_pack *pack;
} vector;

/* Runs one vector. On a thread of its own. */
static void *run(void *argument) {
    const vector *v = argument;
    uint8_t request[256];
    size_t length = strlen(v->request) / 2, expected_length;
    for (size_t i = 0; i < length; i++) sscanf(v->request + 2 * i, "%2hhx", &request[i]);
    reader message = read_message(request, length);
    EXPECT(read_field(&message));
    fields spec = read_fields(&message);
    const floor_gen_pack *pack = spec.at[6].length ? v->pack : floor_gen_pack_built_in();
    uint8_t *expected = read_file(v->folder, v->file, &expected_length);

    const floor_gen_bytes *bytes = floor_gen_encode(pack, spec.of[1], (uint32_t)spec.of[2], (uint32_t)spec.of[3],
                                                    (uint32_t)spec.of[4], (uint32_t)(spec.of[5] | spec.of[7] << 8));
    const floor_gen_floor *floor = floor_gen_generate(pack, spec.of[1], (uint32_t)spec.of[2], (uint32_t)spec.of[3],
                                                      (uint32_t)spec.of[4], (uint32_t)(spec.of[5] | spec.of[7] << 8));
    EXPECT(bytes && floor);
    if (bytes && floor) {
        int before = wrong;
        EXPECT(bytes->length == expected_length && memcmp(bytes->data, expected, expected_length) == 0);
        EXPECT(same_cells(floor, floor->terrain, v->terrain, 1) && same_cells(floor, floor->region, v->region, 2));
        EXPECT(strcmp(floor->pack, floor_gen_pack_reference(pack)) == 0);
        compare(floor, bytes);
        check_ways(floor);
        if (wrong > before) printf("%s is wrong\n", v->name);
    }
    floor_gen_bytes_free(bytes);
    floor_gen_floor_free(floor);
    free(expected);
    return NULL;
}

/* Whether the last error has this code and such a text. */
static int failed(const void *returned, uint32_t code, const char *text) {
    int is = !returned && floor_gen_error_code() == code && strstr(floor_gen_error_message(), text);
    if (!is) printf("no error like \"%s\": %u %s\n", text, floor_gen_error_code(), floor_gen_error_message());
    return is;
}

static void check_errors(const uint8_t *file, size_t length) {
    const floor_gen_pack *pack = floor_gen_pack_built_in();
    EXPECT(floor_gen_abi() == FLOOR_GEN_ABI);
    EXPECT(floor_gen_error_code() == FLOOR_GEN_ERROR_NONE && strcmp(floor_gen_error_message(), "") == 0);
    EXPECT(failed(floor_gen_generate(NULL, 42, 7, 0, 0, 0), FLOOR_GEN_ERROR_NULL, "pack is NULL: pass floor_gen_pack_built_in()"));
    EXPECT(failed(floor_gen_encode(NULL, 42, 7, 0, 0, 0), FLOOR_GEN_ERROR_NULL, "pack is NULL"));
    EXPECT(failed(floor_gen_pack_reference(NULL), FLOOR_GEN_ERROR_NULL, "pack is NULL"));
    EXPECT(failed(floor_gen_floor_names(NULL), FLOOR_GEN_ERROR_NULL, "floor is NULL: pass what floor_gen_generate"));
    EXPECT(failed(floor_gen_pack_load(NULL, 3), FLOOR_GEN_ERROR_NULL, "file is NULL: pass the bytes of a .floorpack file"));
    EXPECT(failed(floor_gen_pack_load(file, SIZE_MAX), FLOOR_GEN_ERROR_PACK, "a pack has at most 4193280 bytes"));
    for (size_t cut = 0; cut < length; cut += cut < 64 ? 1 : 977) {
        uint8_t *truncated = malloc(cut + 1); /* a block of its own, so that a read beyond it is found */
        memcpy(truncated, file, cut);
        const floor_gen_pack *loaded = floor_gen_pack_load(truncated, cut);
        EXPECT(loaded || floor_gen_error_code() == FLOOR_GEN_ERROR_PACK);
        floor_gen_pack_free(loaded);
        free(truncated);
    }
    EXPECT(failed(floor_gen_generate(pack, 42, 0, 0, 0, 0), FLOOR_GEN_ERROR_ARGUMENT, "floor number 0 is not in 1 ..= 1000000"));
    EXPECT(failed(floor_gen_generate(pack, 42, 7, 15, 0, 0), FLOOR_GEN_ERROR_ARGUMENT, "width 15 is not in 16 ..= 512"));
    EXPECT(failed(floor_gen_encode(pack, 42, 7, 0, 65552, 0), FLOOR_GEN_ERROR_ARGUMENT, "height 65552 is not in 16 ..= 512"));
    EXPECT(failed(floor_gen_encode(pack, 42, 7, 0, 0, 10), FLOOR_GEN_ERROR_ARGUMENT, "kind 10 is none of 1 standard, 2 keep"));
    floor_gen_pack_free(pack);
    floor_gen_pack_free(NULL);
    floor_gen_floor_free(NULL);
    floor_gen_bytes_free(NULL);
    EXPECT(floor_gen_passable(FLOOR_GEN_TERRAIN_DOOR) == 1 && floor_gen_passable(FLOOR_GEN_TERRAIN_WALL) == 0);
    EXPECT(floor_gen_passable(0) == 0 && floor_gen_passable(UINT32_MAX) == 0);
    uint64_t seed = 0;
    floor_gen_point nowhere = {UINT32_MAX, UINT32_MAX};
    EXPECT(floor_gen_seed(" -1 ", &seed) == 1 && seed == UINT64_MAX);
    EXPECT(!floor_gen_seed("", &seed) && failed(NULL, FLOOR_GEN_ERROR_ARGUMENT, "the name of a tower is empty"));
    EXPECT(!floor_gen_seed("\xff", &seed) && failed(NULL, FLOOR_GEN_ERROR_ARGUMENT, "text is not UTF-8"));
    EXPECT(!floor_gen_seed(NULL, &seed) && failed(NULL, FLOOR_GEN_ERROR_NULL, "text is NULL"));
    EXPECT(!floor_gen_starts(NULL, &nowhere, 1) && failed(NULL, FLOOR_GEN_ERROR_NULL, "floor is NULL"));
    const floor_gen_floor *floor = floor_gen_generate(pack, 42, 7, 0, 0, 0);
    EXPECT(floor_gen_path(floor, nowhere, floor->exit, NULL, 0, NULL, 0) == 0);
    EXPECT(!floor_gen_passable_with(floor, nowhere, NULL, 0));
    EXPECT(!floor_gen_path(floor, floor->entry, floor->exit, NULL, 1, NULL, 0));
    EXPECT(failed(NULL, FLOOR_GEN_ERROR_NULL, "keys is NULL: pass the ids of key_count locks"));
    floor_gen_floor_free(floor);
}

typedef struct { const uint8_t *bytes; size_t length; const floor_gen_pack *pack; } pack_file;

/* Loads the pack, after the errors. On a thread of its own. */
static void *load(void *argument) {
    pack_file *file = argument;
    check_errors(file->bytes, file->length);
    file->pack = floor_gen_pack_load(file->bytes, file->length);
    if (!file->pack) puts(floor_gen_error_message());
    return NULL;
}

/* Waits for a thread with a small stack. */
static void on_small_stack(void *(*work)(void *), void *argument) {
    pthread_attr_t small;
    pthread_t thread;
    EXPECT(pthread_attr_init(&small) == 0 && pthread_attr_setstacksize(&small, STACK) == 0);
    EXPECT(pthread_create(&thread, &small, work, argument) == 0 && pthread_join(thread, NULL) == 0);
    pthread_attr_destroy(&small);
}

int main(int count, char **arguments) {
    if (count != 3) { fprintf(stderr, "usage: vectors FOLDER PACK <LINES\n"); return 2; }
    size_t length, vectors = 0;
    uint8_t *bytes = read_file(arguments[1], arguments[2], &length);
    pack_file file = {.bytes = bytes, .length = length};
    on_small_stack(load, &file);
    free(bytes);
    EXPECT(file.pack);
    if (!file.pack) return 1;

    char *line = malloc(LINE);
    while (fgets(line, LINE, stdin)) {
        vector v = {.folder = arguments[1], .pack = file.pack};
        v.name = strtok(line, " \n"), v.request = strtok(NULL, " \n"), v.file = strtok(NULL, " \n");
        v.terrain = strtok(NULL, " \n"), v.region = strtok(NULL, " \n");
        EXPECT(v.region);
        if (v.region) on_small_stack(run, &v);
        vectors++;
    }
    free(line);
    floor_gen_pack_free(file.pack);
    printf("%zu vectors, %d wrong\n", vectors, wrong);
    return wrong != 0 || vectors == 0;
}
