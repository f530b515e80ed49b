/* A generator for a pack in C: caves from a cellular automaton ("4-5 rule", RogueBasin), of which the largest is kept, with
 * stairs at its two ends, puddles, monsters that grow with the number, and gold.
 *
 *   clang --target=wasm32 -O2 -mbulk-memory -nostdlib -I ../.. -Wl,--no-entry -o generator.wasm caves.c
 *
 * With -DCAVES=8 it grows eight and takes the one with the longest way from entry to exit, for eight times the time. */
#include "floor_module.h"

enum { WALL = 1, FLOOR = 2, UP = 6, DOWN = 7, SHALLOW = 8 }; /* of floors.v1.Terrain */
enum { CAVERN = 4, GUARDS = 2, WANDERS = 4, ENTRY = 1 };
enum { SIDE = 512, CELLS = SIDE * SIDE };
#ifndef CAVES
#define CAVES 1
#endif

static uint8_t files[1 << 16], terrain[CELLS], next[CELLS], best[CELLS], region[CELLS], out[4 * CELLS];
static uint32_t queue[CELLS], distance[CELLS];
static uint64_t state;

/* SplitMix64: https://prng.di.unimi.it/splitmix64.c */
static uint32_t draw(uint32_t below) {
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)((z ^ z >> 31) >> 32) % below;
}

uint32_t floor_abi(void) { return 1; }
/* The pack's files say nothing to this generator; too many of them are cut off. */
uint8_t *floor_input(uint32_t length) { return length <= sizeof files ? files : 0; }
uint64_t floor_load(void) { return 0; }

uint64_t floor_resolve(uint64_t seed, uint32_t number, uint32_t width, uint32_t height, uint32_t kind) {
    (void)seed, (void)number;
    if (kind != 0 && kind != CAVERN) return FLOOR_ERROR("every floor of this pack is a cavern");
    return (uint64_t)CAVERN << 32 | (height ? height : 80) << 16 | (width ? width : 80);
}

static void grow_caves(uint32_t width, uint32_t height) {
    for (uint32_t i = 0; i < width * height; i++) {
        uint32_t x = i % width, y = i / width;
        int is_border = x == 0 || y == 0 || x == width - 1 || y == height - 1;
        terrain[i] = is_border || draw(100) < 44 ? WALL : FLOOR;
    }
    for (int round = 0; round < 5; round++) {
        for (uint32_t i = 0; i < width * height; i++) next[i] = WALL;
        for (uint32_t y = 1; y + 1 < height; y++) {
            for (uint32_t x = 1; x + 1 < width; x++) {
                uint32_t i = y * width + x, walls = 0;
                for (int dy = -1; dy <= 1; dy++)
                    for (int dx = -1; dx <= 1; dx++) walls += terrain[i + dy * (int)width + dx] == WALL;
                next[i] = walls >= 5 || (round < 3 && walls == 0) ? WALL : FLOOR;
            }
        }
        for (uint32_t i = 0; i < width * height; i++) terrain[i] = next[i];
    }
}

/* Distances from `start` through cells that are no wall; the number of cells, which `queue` holds, near ones first. */
static uint32_t walk(uint32_t width, uint32_t height, uint32_t start) {
    for (uint32_t i = 0; i < width * height; i++) distance[i] = UINT32_MAX;
    uint32_t head = 0, tail = 0;
    distance[start] = 0;
    queue[tail++] = start;
    while (head < tail) {
        uint32_t here = queue[head++], around[4] = {here - width, here - 1, here + 1, here + width};
        for (int i = 0; i < 4; i++) {
            uint32_t there = around[i];
            if (terrain[there] == WALL || distance[there] != UINT32_MAX) continue;
            distance[there] = distance[here] + 1;
            queue[tail++] = there;
        }
    }
    return tail;
}

/* Keeps the largest cave; the number of its cells, or 0 if it is too small. */
static uint32_t keep_largest(uint32_t width, uint32_t height, uint32_t *start) {
    uint32_t largest = 0;
    for (uint32_t i = 0; i < width * height; i++) next[i] = terrain[i] == WALL;
    for (uint32_t i = 0; i < width * height; i++) {
        if (next[i]) continue;
        uint32_t cells = walk(width, height, i);
        for (uint32_t j = 0; j < cells; j++) next[queue[j]] = 1;
        if (cells > largest) largest = cells, *start = i;
    }
    if (largest < width * height / 6) return 0;
    walk(width, height, *start);
    for (uint32_t i = 0; i < width * height; i++)
        if (distance[i] == UINT32_MAX) terrain[i] = WALL;
    return largest;
}

static void thing(floor_writer *w, uint32_t field, uint32_t width, uint32_t at, const char *name, uint32_t amount) {
    size_t length = 0, begun = floor_begin(w, field);
    while (name[length]) length++;
    floor_point(w, 1, at % width, at / width);
    floor_bytes(w, 2, (const uint8_t *)name, length);
    floor_number(w, 3, amount);
    if (field == 10) floor_number(w, 4, draw(2) ? GUARDS : WANDERS);
    floor_end(w, begun);
}

uint64_t floor_generate(uint64_t seed, uint32_t number, uint32_t width, uint32_t height, uint32_t kind) {
    (void)kind;
    state = seed * 0x2545f4914f6cdd1du ^ (uint64_t)number << 32 ^ width << 16 ^ height;
    uint32_t start = 0, entry = 0, cells = 0, longest = 0;
    for (int attempt = 0, caves = 0; attempt < 50 * CAVES && caves < CAVES; attempt++) {
        grow_caves(width, height);
        uint32_t grown = keep_largest(width, height, &start);
        if (!grown) continue;
        caves++;
        walk(width, height, start);
        uint32_t from = queue[grown - 1];
        walk(width, height, from);
        if (distance[queue[grown - 1]] <= longest) continue;
        longest = distance[queue[grown - 1]], entry = from, cells = grown;
        for (uint32_t i = 0; i < width * height; i++) best[i] = terrain[i];
    }
    if (!cells) return FLOOR_ERROR("50 attempts gave no cave that is large enough");
    for (uint32_t i = 0; i < width * height; i++) terrain[i] = best[i];
    walk(width, height, entry);
    uint32_t exit = queue[cells - 1], min_x = width, min_y = height, max_x = 0, max_y = 0;
    terrain[entry] = UP, terrain[exit] = DOWN;
    for (uint32_t i = 0; i < width * height; i++) {
        region[i] = terrain[i] != WALL;
        if (!region[i]) continue;
        uint32_t x = i % width, y = i / width;
        if (terrain[i] == FLOOR && draw(100) < 3) terrain[i] = SHALLOW;
        if (x < min_x) min_x = x;
        if (x > max_x) max_x = x;
        if (y < min_y) min_y = y;
        if (y > max_y) max_y = y;
    }
    floor_writer w = {out, 0, sizeof out, 0};
    floor_number(&w, 2, 1);
    floor_grid(&w, 4, width, height, terrain);
    floor_grid(&w, 5, width, height, region);
    floor_point(&w, 6, entry % width, entry / width);
    floor_point(&w, 7, exit % width, exit / width);
    size_t room = floor_begin(&w, 8);
    floor_point(&w, 2, min_x, min_y);
    floor_point(&w, 3, max_x, max_y);
    floor_number(&w, 4, ENTRY);
    floor_point(&w, 5, entry % width, entry / width);
    floor_end(&w, room);
    for (uint32_t i = cells / 20; i < cells; i += 40 + draw(60))
        if (terrain[queue[i]] == FLOOR) terrain[queue[i]] = 0, thing(&w, 10, width, queue[i], draw(3) ? "bat" : "troll", 1 + number / 5 % 50);
    for (uint32_t i = cells / 2; i < cells; i += 120 + draw(100))
        if (terrain[queue[i]] == FLOOR) thing(&w, 11, width, queue[i], "gold", 5 + number);
    return w.full ? FLOOR_ERROR("the floor is too large for this generator") : FLOOR_BYTES(out, w.length);
}
