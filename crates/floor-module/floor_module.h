/* The functions of a generator that a pack brings along as generator.wasm (docs/modules.md), and a writer of floors for
 * them, in C without a library.
 *
 *   clang --target=wasm32 -O2 -mbulk-memory -nostdlib -Wl,--no-entry -o generator.wasm generator.c
 *
 * A module exports its memory as `memory`, imports nothing, and defines the five functions below. An answer of 64 bits is
 * FLOOR_BYTES(address, length) of bytes that stay where they are until the next call, or FLOOR_ERROR of a text in UTF-8.
 * The same files and the same arguments must always give the same answer. */
#ifndef FLOOR_MODULE_H
#define FLOOR_MODULE_H

#include <stddef.h>
#include <stdint.h>

#define FLOOR_EXPORT(name) __attribute__((export_name(name)))
#define FLOOR_BYTES(address, length) ((uint64_t)(uintptr_t)(address) << 32 | (uint32_t)(length))
#define FLOOR_ERROR(text) (FLOOR_BYTES(text, sizeof(text) - 1) | (uint64_t)1 << 63)

/* Answers 1, the version of these functions. */
FLOOR_EXPORT("floor_abi") uint32_t floor_abi(void);
/* Answers where the host writes `length` bytes: the pack's files in their canonical form, without generator.wasm. */
FLOOR_EXPORT("floor_input") uint8_t *floor_input(uint32_t length);
/* Reads them. Answers 0, or an error. */
FLOOR_EXPORT("floor_load") uint64_t floor_load(void);
/* A request, in which a side or a kind of 0 is open. Answers kind << 32 | height << 16 | width, or an error. */
FLOOR_EXPORT("floor_resolve")
uint64_t floor_resolve(uint64_t seed, uint32_t number, uint32_t width, uint32_t height, uint32_t kind);
/* Answers an encoded floors.v1.Floor of so many cells, or an error. Spec, hashes and missing metrics are the host's. */
FLOOR_EXPORT("floor_generate")
uint64_t floor_generate(uint64_t seed, uint32_t number, uint32_t width, uint32_t height, uint32_t kind);

/* Fields of a message in Protocol Buffers, one after the other. What does not fit sets `full`. */
typedef struct {
    uint8_t *bytes;
    size_t length, capacity;
    int full;
} floor_writer;

static inline void floor_byte(floor_writer *w, uint8_t byte) {
    if (w->length < w->capacity) w->bytes[w->length++] = byte;
    else w->full = 1;
}

static inline void floor_varint(floor_writer *w, uint64_t value) {
    for (; value >= 0x80; value >>= 7) floor_byte(w, (uint8_t)(value | 0x80));
    floor_byte(w, (uint8_t)value);
}

/* A number; 0 is left out, as the encoding wants it. */
static inline void floor_number(floor_writer *w, uint32_t field, uint64_t value) {
    if (value == 0) return;
    floor_varint(w, (uint64_t)field << 3);
    floor_varint(w, value);
}

static inline void floor_bytes(floor_writer *w, uint32_t field, const uint8_t *bytes, size_t length) {
    floor_varint(w, (uint64_t)field << 3 | 2);
    floor_varint(w, length);
    for (size_t i = 0; i < length; i++) floor_byte(w, bytes[i]);
}

/* A message inside of another: begin it, write its fields, end it. It has at most 2^21 bytes. */
static inline size_t floor_begin(floor_writer *w, uint32_t field) {
    floor_varint(w, (uint64_t)field << 3 | 2);
    for (int i = 0; i < 3; i++) floor_byte(w, 0);
    return w->length;
}

static inline void floor_end(floor_writer *w, size_t start) {
    if (w->full) return;
    size_t length = w->length - start;
    /* Three bytes of length, whatever it is: the host encodes the floor anew. */
    w->bytes[start - 3] = (uint8_t)(length | 0x80);
    w->bytes[start - 2] = (uint8_t)(length >> 7 | 0x80);
    w->bytes[start - 1] = (uint8_t)(length >> 14);
}

static inline void floor_point(floor_writer *w, uint32_t field, uint32_t x, uint32_t y) {
    size_t point = floor_begin(w, field);
    floor_number(w, 1, x);
    floor_number(w, 2, y);
    floor_end(w, point);
}

/* A grid of width * height values below 32, one byte each. Fields 4 and 5 of a floor are its terrain and its regions. */
static inline void floor_grid(floor_writer *w, uint32_t field, uint32_t width, uint32_t height, const uint8_t *cells) {
    uint32_t occurs = 0;
    for (uint32_t i = 0; i < width * height; i++) occurs |= 1u << cells[i];
    uint8_t index[32], count = 0;
    size_t grid = floor_begin(w, field);
    floor_number(w, 1, width);
    floor_number(w, 2, height);
    for (uint8_t value = 0; value < 32; value++) {
        if (!(occurs >> value & 1)) continue;
        floor_varint(w, 3 << 3);
        floor_varint(w, value);
        index[value] = count++;
    }
    /* A byte for each cell; a grid of one value has none. */
    floor_number(w, 4, count == 1 ? 1 : 2);
    if (count > 1) {
        floor_varint(w, 6 << 3 | 2);
        floor_varint(w, width * height);
        for (uint32_t i = 0; i < width * height; i++) floor_byte(w, index[cells[i]]);
    }
    floor_end(w, grid);
}

#endif
