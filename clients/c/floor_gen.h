/* The generator of tower floors in a program's own process. docs/clients/c.md explains it with an example.
 *
 * The same arguments give the same floor on every machine, byte for byte that of a server with the same
 * floor_gen_version().
 *
 * Errors: a function that returns a pointer returns NULL if it fails. floor_gen_error_code() and
 * floor_gen_error_message() then say why. No argument, and no content of a pack, ends the program.
 *
 * Ownership: what a function returns stays unchanged until it is freed by the function that is named for it, once, by any
 * thread. Strings are UTF-8 and end in 0. A floor does not need its pack any more.
 *
 * Threads: every function may be called by any thread at any time; packs and floors may be shared. A thread keeps the
 * memory in which it generates, about 25 bytes for each cell of its largest floor, until it ends. 128 KiB
 * of stack suffice: a pack, and at its first use the built-in one, is read on a thread that the library awaits.
 */
#ifndef FLOOR_GEN_H
#define FLOOR_GEN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of these declarations. It rises when a program that was compiled with older ones could not call the library. New fields
 * come at the end of floor_gen_floor, and new functions do not change it. */
#define FLOOR_GEN_ABI 1u

/* The numbers are those of floors.proto. */
enum {
    FLOOR_GEN_FLOOR_KIND_UNSPECIFIED = 0, /* the schedule of the tower decides */
    FLOOR_GEN_FLOOR_KIND_STANDARD = 1,
    FLOOR_GEN_FLOOR_KIND_KEEP = 2,
    FLOOR_GEN_FLOOR_KIND_HALLS = 3,
    FLOOR_GEN_FLOOR_KIND_CAVERN = 4,
    FLOOR_GEN_FLOOR_KIND_CYCLIC = 5,
    FLOOR_GEN_FLOOR_KIND_MAZE = 6,
    FLOOR_GEN_FLOOR_KIND_BOSS = 7,
    FLOOR_GEN_FLOOR_KIND_EVENT = 8,
    FLOOR_GEN_FLOOR_KIND_STORY = 9
};
enum {
    FLOOR_GEN_VIEW_UNSPECIFIED = 0, /* everything */
    FLOOR_GEN_VIEW_PLAYER = 1       /* what a player may know on arrival; docs/protocol.md says what that is */
};
/* Added to a kind: the floor in the view FLOOR_GEN_VIEW_PLAYER. */
#define FLOOR_GEN_FOR_PLAYER 256u
enum {
    FLOOR_GEN_TERRAIN_WALL = 1,
    FLOOR_GEN_TERRAIN_FLOOR = 2,
    FLOOR_GEN_TERRAIN_DOOR = 3,
    FLOOR_GEN_TERRAIN_LOCKED_DOOR = 4, /* passable with the item that opens its lock */
    FLOOR_GEN_TERRAIN_SECRET_DOOR = 5, /* passable for a player who searches */
    FLOOR_GEN_TERRAIN_STAIRS_UP = 6,
    FLOOR_GEN_TERRAIN_STAIRS_DOWN = 7,
    FLOOR_GEN_TERRAIN_SHALLOW_WATER = 8,
    FLOOR_GEN_TERRAIN_DEEP_WATER = 9,
    FLOOR_GEN_TERRAIN_LAVA = 10,
    FLOOR_GEN_TERRAIN_CHASM = 11,
    FLOOR_GEN_TERRAIN_BRIDGE = 12,
    FLOOR_GEN_TERRAIN_GRASS = 13,
    FLOOR_GEN_TERRAIN_RUBBLE = 14,
    FLOOR_GEN_TERRAIN_PILLAR = 15
};
enum {
    FLOOR_GEN_ROOM_ROLE_ENTRY = 1,
    FLOOR_GEN_ROOM_ROLE_EXIT = 2,
    FLOOR_GEN_ROOM_ROLE_COMBAT = 3,
    FLOOR_GEN_ROOM_ROLE_TREASURE = 4,
    FLOOR_GEN_ROOM_ROLE_KEY = 5,
    FLOOR_GEN_ROOM_ROLE_SHRINE = 6,
    FLOOR_GEN_ROOM_ROLE_SHOP = 7,
    FLOOR_GEN_ROOM_ROLE_BOSS = 8,
    FLOOR_GEN_ROOM_ROLE_VAULT = 9,
    FLOOR_GEN_ROOM_ROLE_SECRET = 10,
    FLOOR_GEN_ROOM_ROLE_PASSAGE = 11
};
enum {
    FLOOR_GEN_BEHAVIOUR_SLEEPS = 1,
    FLOOR_GEN_BEHAVIOUR_GUARDS = 2,
    FLOOR_GEN_BEHAVIOUR_PATROLS = 3,
    FLOOR_GEN_BEHAVIOUR_WANDERS = 4
};
enum {
    FLOOR_GEN_ERROR_NONE = 0,
    FLOOR_GEN_ERROR_NULL = 1,     /* a pointer is NULL that may not be */
    FLOOR_GEN_ERROR_ARGUMENT = 2, /* a number is out of range */
    FLOOR_GEN_ERROR_PACK = 3,     /* the pack has errors; the message has a line for each */
    FLOOR_GEN_ERROR_INTERNAL = 4  /* a fault of this library; please report it */
};

/* x to the right, y down, from 0. */
typedef struct { uint32_t x, y; } floor_gen_point;
/* The id is its index. `max` is inclusive, and `center` passable. */
typedef struct { uint32_t id, role; floor_gen_point min, max, center; } floor_gen_room;
/* lock_id 0: open. `secret` is 0 or 1. */
typedef struct { uint32_t from_room, to_room, lock_id, secret; } floor_gen_connection;
/* Monsters of one group act together; 0: alone. */
typedef struct { floor_gen_point at; const char *archetype; uint32_t level, behaviour, group; } floor_gen_spawn;
/* opens_lock 0: not a key. */
typedef struct { floor_gen_point at; const char *archetype; uint32_t value, opens_lock; } floor_gen_item;
typedef struct { uint32_t id; floor_gen_point at; } floor_gen_lock;
typedef struct { floor_gen_point at; const char *archetype; uint32_t level; } floor_gen_trap;

/* Read it through its pointer only: a newer library has more fields. */
typedef struct {
    uint64_t seed;
    uint32_t number, width, height, kind;
    uint32_t generator_version;
    /* width * height cells each; the cell (x, y) is at y * width + x. A region is room id + 1, or 0. */
    const uint8_t *terrain, *region;
    /* Where a player arrives, where the next floor begins, and where one lands who fell from the floor above. */
    floor_gen_point entry, exit, landing;
    const char *pack; /* NAME@HASH; empty for the built-in pack */
    uint64_t pack_hash;
    const char *theme;
    const floor_gen_room *rooms;
    const floor_gen_connection *connections;
    const floor_gen_spawn *spawns;
    const floor_gen_item *items;
    const floor_gen_lock *locks;
    const floor_gen_trap *traps;
    uint32_t room_count, connection_count, spawn_count, item_count, lock_count, trap_count;
    uint32_t critical_path, passable_cells, loops, difficulty;
    uint32_t view;
} floor_gen_floor;

/* A text in the language of its pack, and the ids with which a game says it in another: of the sentence, and of the parts
 * in its places. All are empty if there is none. */
typedef struct { const char *text, *id; const char *const *parts; uint32_t part_count; } floor_gen_text;
/* One can walk over furniture unless the terrain of its cell is PILLAR. Treat an unknown archetype as decoration. */
typedef struct { floor_gen_point at; const char *archetype; } floor_gen_furniture;
/* What a floor is called and furnished with. Read it through its pointer only: a newer library has more fields. */
typedef struct {
    floor_gen_text name, hook;
    const floor_gen_text *room_names; /* one for each room; most are empty */
    const floor_gen_furniture *furniture;
    uint32_t furniture_count;
    uint32_t landmark; /* id + 1 of the room that the floor is remembered by, or 0 */
} floor_gen_names;

/* An encoded message floors.v1.Floor, as a server sends it. */
typedef struct { const uint8_t *data; size_t length; } floor_gen_bytes;

typedef struct floor_gen_pack floor_gen_pack;

/* FLOOR_GEN_ABI of the library. Compare it with yours if you load the library at run time. */
uint32_t floor_gen_abi(void);
/* Rises with every change that alters any floor. */
uint32_t floor_gen_version(void);

/* Of the last function that failed on this thread; valid until the next one fails. */
uint32_t floor_gen_error_code(void);
const char *floor_gen_error_message(void);

/* The pack of this library. Freeing it does nothing. */
const floor_gen_pack *floor_gen_pack_built_in(void);
/* Reads the bytes of a .floorpack file, or of an answer of GetPack. They are not needed afterwards. */
const floor_gen_pack *floor_gen_pack_load(const uint8_t *file, size_t length);
/* NAME@HASH, which names this version to a server; empty for the built-in pack. It lives as long as the pack. */
const char *floor_gen_pack_reference(const floor_gen_pack *pack);
/* NULL is allowed. No call may be using the pack. */
void floor_gen_pack_free(const floor_gen_pack *pack);

/* A floor to read. A width, a height or a kind of 0 is as the pack says. */
const floor_gen_floor *floor_gen_generate(const floor_gen_pack *pack, uint64_t seed, uint32_t number, uint32_t width,
                                          uint32_t height, uint32_t kind);
/* NULL is allowed. */
void floor_gen_floor_free(const floor_gen_floor *floor);

/* Its names and its furniture. They live as long as the floor. */
const floor_gen_names *floor_gen_floor_names(const floor_gen_floor *floor);

/* The same floor as bytes. */
const floor_gen_bytes *floor_gen_encode(const floor_gen_pack *pack, uint64_t seed, uint32_t number, uint32_t width,
                                        uint32_t height, uint32_t kind);
/* NULL is allowed. */
void floor_gen_bytes_free(const floor_gen_bytes *bytes);

/* 1 if a player without keys who does not search can enter such a cell, else 0. */
uint32_t floor_gen_passable(uint32_t terrain);

/* The seed of a tower that people name: "my dungeon", "42", "-1". 1 if the text names one, else 0. */
uint32_t floor_gen_seed(const char *text, uint64_t *seed);

/* Ways. A step leads to one of the four neighbours of a cell; `keys` are the ids of `key_count` locks whose keys the walker
 * has. All return 0 if they fail. */

/* 1 if the walker can enter the cell. */
uint32_t floor_gen_passable_with(const floor_gen_floor *floor, floor_gen_point at, const uint32_t *keys, size_t key_count);
/* Writes 1 or 0 for each of the width * height cells: whether the walker gets there. Returns how many those are. */
size_t floor_gen_reachable(const floor_gen_floor *floor, floor_gen_point from, const uint32_t *keys, size_t key_count,
                           uint8_t *cells);
/* The cells of the shortest way, both ends among them: writes at most `capacity` and returns how many it has. 0: no way. */
size_t floor_gen_path(const floor_gen_floor *floor, floor_gen_point from, floor_gen_point to, const uint32_t *keys,
                      size_t key_count, floor_gen_point *cells, size_t capacity);
/* A cell for each of a party of `count`, near the entry. Returns how many it has written. */
size_t floor_gen_starts(const floor_gen_floor *floor, floor_gen_point *cells, size_t count);

#ifdef __cplusplus
}
#endif

#endif
