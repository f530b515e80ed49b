//! How the floors of a theme look: for pictures, maps and games. The generator does not use it.

/// What has a colour of the theme.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paint {
    /// Solid rock, on which no light falls.
    Rock,
    /// Walls seen from above.
    Wall,
    /// Bare ground.
    Floor,
    /// Shallow water.
    Shallow,
    /// Deep water.
    Deep,
    /// Lava.
    Lava,
    /// Grass, or what grows instead of it.
    Grass,
    /// The bottom of a chasm.
    Chasm,
    /// Outlines and hatching on paper, and what is written on light ground.
    Ink,
}

impl Paint {
    /// Everything that has a colour.
    pub const ALL: [Self; 9] = [
        Self::Rock,
        Self::Wall,
        Self::Floor,
        Self::Shallow,
        Self::Deep,
        Self::Lava,
        Self::Grass,
        Self::Chasm,
        Self::Ink,
    ];

    /// Their keys in a pack.
    pub const NAMES: [&'static str; Self::ALL.len()] =
        ["rock", "wall", "floor", "shallow", "deep", "lava", "grass", "chasm", "ink"];
}

/// How rock is hatched on paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hatch {
    /// Nothing.
    Plain,
    /// Groups of short parallel strokes, each group turned against the next.
    Strokes,
    /// Pebbles.
    Dots,
    /// Short waves.
    Waves,
    /// Courses of bricks.
    Bricks,
    /// Splinters that meet at sharp angles.
    Shards,
    /// Long level lines.
    Lines,
}

impl Hatch {
    /// Every hatching.
    pub const ALL: [Self; 7] =
        [Self::Plain, Self::Strokes, Self::Dots, Self::Waves, Self::Bricks, Self::Shards, Self::Lines];

    /// Their names in a pack.
    pub const NAMES: [&'static str; Self::ALL.len()] =
        ["plain", "strokes", "dots", "waves", "bricks", "shards", "lines"];
}

/// The colours and the hatching of a theme.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Red, green and blue of each paint, as 0xRRGGBB.
    pub(crate) colours: [u32; Paint::ALL.len()],
    /// How its rock is hatched.
    pub hatch: Hatch,
}

impl Look {
    /// A look with the colour of each paint, as 0xRRGGBB, in the order of [`Paint::ALL`].
    #[must_use]
    pub const fn new(colours: [u32; Paint::ALL.len()], hatch: Hatch) -> Self {
        Self { colours, hatch }
    }

    /// The colour of a paint, as 0xRRGGBB.
    #[must_use]
    pub const fn colour(&self, paint: Paint) -> u32 {
        self.colours[paint as usize]
    }
}

/// Grey stone: the look of a theme that says nothing.
impl Default for Look {
    fn default() -> Self {
        Self {
            colours: [
                0x17_161d, 0x5d_5868, 0xa3_9782, 0x4f_9dbd, 0x24_5a8c, 0xf2_6a21, 0x6d_a34d, 0x3c_3350, 0x10_0e14,
            ],
            hatch: Hatch::Strokes,
        }
    }
}
