//! A picture of the terrain of a floor: a square of pixels for each cell, a colour for each terrain.

/// The side of a cell, in pixels.
const SIDE: usize = 4;

/// The colour of each terrain, by its number.
const COLOURS: [[u8; 3]; 16] = [
    [0xff, 0x00, 0xff], // none: never in a floor
    [0x20, 0x20, 0x28], // WALL
    [0x8c, 0x84, 0x78], // FLOOR
    [0xd0, 0x90, 0x38], // DOOR
    [0xff, 0x48, 0xd8], // LOCKED_DOOR
    [0x40, 0xff, 0xd0], // SECRET_DOOR
    [0xff, 0xff, 0xff], // STAIRS_UP
    [0xff, 0xe0, 0x30], // STAIRS_DOWN
    [0x60, 0xa0, 0xd8], // SHALLOW_WATER
    [0x20, 0x48, 0xa0], // DEEP_WATER
    [0xe0, 0x50, 0x18], // LAVA
    [0x00, 0x00, 0x00], // CHASM
    [0xa8, 0x70, 0x30], // BRIDGE
    [0x48, 0x88, 0x38], // GRASS
    [0xb8, 0xac, 0x94], // RUBBLE
    [0x50, 0x4c, 0x58], // PILLAR
];

/// A PNG file of a terrain grid.
pub(super) fn of(width: u32, height: u32, terrain: &[u8]) -> Vec<u8> {
    let mut pixels = Vec::with_capacity(terrain.len() * SIDE * SIDE);
    for row in terrain.chunks(width as usize) {
        let line: Vec<u8> = row.iter().flat_map(|&cell| [cell; SIDE]).collect();
        pixels.extend(line.repeat(SIDE));
    }
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, width * SIDE as u32, height * SIDE as u32);
    encoder.set_color(png::ColorType::Indexed);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_palette(COLOURS.concat());
    let mut writer = encoder.write_header().expect("writing to memory cannot fail");
    writer.write_image_data(&pixels).expect("the data have the size of the picture");
    writer.finish().expect("writing to memory cannot fail");
    file
}
