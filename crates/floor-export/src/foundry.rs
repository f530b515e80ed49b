//! A scene of Foundry 12 and 13, with its picture and a journal: <https://foundryvtt.com/api/v12/>, documents `Scene`,
//! `Wall`, `AmbientLight`, `Note` and `JournalEntry`. Positions are in pixels of the scene, which has no padding.

use floor_gen::pack::Paint;
use floor_proto::{
    floor::Floor,
    v1::{Point, Terrain},
};
use serde_json::{Value, json};

use crate::{
    ExportError, ExportedFile,
    escape::in_html,
    names,
    picture::{Appearance, colour},
    room_key::{self, RoomEntry},
    uvtt,
    walls::{self, DoorLine},
};

/// Pixels of a cell in the scene at the least. The picture is stretched to the scene.
const LEAST_GRID: u32 = 50;
const FEET: f64 = 5.0;

/// Restrictions of walls: `CONST.WALL_SENSE_TYPES`.
const NONE: u8 = 0;
const LIMITED: u8 = 10;
const NORMAL: u8 = 20;

/// The scene in a file of that name, and beside it the picture and the journal.
///
/// # Errors
/// If the picture is too large or cannot be written.
pub(crate) fn files(floor: &Floor, map: String, appearance: &Appearance) -> Result<Vec<ExportedFile>, ExportError> {
    let stem = map.strip_suffix(".json").unwrap_or(&map).to_owned();
    let picture = format!("{stem}.png");
    let scale = uvtt::scale_of(floor, appearance);
    let mut documents = Documents { floor, grid: scale.max(LEAST_GRID), next: 0 };
    let entries = room_key::entries(floor);
    let journal = documents.journal(&entries);
    Ok(vec![
        ExportedFile::json(map, &documents.scene(&picture, appearance, &journal, &entries)),
        ExportedFile { name: picture, bytes: uvtt::image(floor, appearance, scale)? },
        ExportedFile::json(format!("{stem}-journal.json"), &journal),
    ])
}

/// Makes the documents of a floor, each with an id that follows from the floor.
struct Documents<'a> {
    floor: &'a Floor,
    /// Pixels of a cell.
    grid: u32,
    next: u32,
}

impl Documents<'_> {
    /// 16 letters and digits.
    fn id(&mut self) -> String {
        self.next += 1;
        format!("{:010x}{:06x}", self.floor.content_hash() >> 24, self.next)
    }

    /// What the floor is called, or what it is.
    fn name(&self) -> String {
        match self.floor.name() {
            "" => self.what(),
            name => name.to_owned(),
        }
    }

    fn what(&self) -> String {
        let spec = self.floor.spec();
        format!("Floor {} of tower {} ({})", spec.number, spec.seed, names::kind_of(spec))
    }

    fn scene(&mut self, picture: &str, appearance: &Appearance, journal: &Value, entries: &[RoomEntry]) -> Value {
        json!({
            "_id": self.id(),
            "name": self.name(),
            "navigation": true,
            "background": {"src": picture},
            "width": self.floor.width() * self.grid,
            "height": self.floor.height() * self.grid,
            "padding": 0,
            "backgroundColor": colour::hex(colour::paint(&appearance.look, Paint::Rock)),
            "grid": {
                "type": 1, "size": self.grid, "style": "solidLines", "thickness": 1,
                "color": "#000000", "alpha": 0.15, "distance": FEET, "units": "ft",
            },
            "tokenVision": true,
            "fog": {"exploration": true},
            "environment": {
                "darknessLevel": if appearance.is_day { 0 } else { 1 },
                "globalLight": {"enabled": appearance.is_day},
            },
            "walls": self.walls(),
            "lights": self.lights(),
            "notes": entries.iter().zip(pages(journal).skip(1)).map(|(entry, page)| self.note(entry, journal, page)).collect::<Vec<_>>(),
            "drawings": [], "regions": [], "sounds": [], "templates": [], "tiles": [], "tokens": [],
        })
    }

    /// The edges of walls, those of pillars, over which one sees, and the doors.
    fn walls(&mut self) -> Vec<Value> {
        let floor = self.floor;
        let outlines = |is_inside: fn(Terrain) -> bool| {
            let is_inside = |x, y| floor.terrain_at(x, y).is_some_and(is_inside);
            walls::outlines(floor.width(), floor.height(), is_inside)
        };
        let mut walls = Vec::new();
        for (outlines, sight) in [(outlines(walls::is_open), NORMAL), (outlines(|it| it == Terrain::Pillar), LIMITED)] {
            for line in outlines.iter().flat_map(|outline| outline.windows(2)) {
                let ends = [line[0], line[1]].map(|(x, y)| (2 * x, 2 * y));
                walls.push(self.wall(ends, sight, (0, 0)));
            }
        }
        let doors = walls::doors(floor);
        walls.extend(doors.into_iter().map(|DoorLine { from, to, terrain }| {
            // The kinds and states of `CONST.WALL_DOOR_TYPES` and `CONST.WALL_DOOR_STATES`.
            let door = match terrain {
                Terrain::SecretDoor => (2, 0),
                Terrain::LockedDoor => (1, 2),
                _ => (1, 0),
            };
            self.wall([from, to], NORMAL, door)
        }));
        walls
    }

    /// A wall between two points in half cells.
    fn wall(&mut self, ends: [(u32, u32); 2], sight: u8, (door, state): (u8, u8)) -> Value {
        let [(x, y), (to_x, to_y)] = ends.map(|(x, y)| (x * self.grid / 2, y * self.grid / 2));
        json!({
            "_id": self.id(), "c": [x, y, to_x, to_y], "move": NORMAL, "sight": sight, "light": sight,
            "sound": if sight == NORMAL { NORMAL } else { NONE }, "dir": 0, "door": door, "ds": state,
        })
    }

    fn lights(&mut self) -> Vec<Value> {
        let lights = uvtt::lamps(self.floor);
        let light = |lamp: uvtt::Lamp| {
            let (x, y) = self.middle(lamp.at);
            json!({
                "_id": self.id(), "x": x, "y": y, "rotation": 0, "walls": true, "vision": false, "hidden": false,
                "config": {
                    "dim": lamp.range * FEET, "bright": lamp.range * FEET / 2.0, "angle": 360, "alpha": 0.4,
                    "color": colour::hex(lamp.colour), "animation": {"type": "torch", "speed": 2, "intensity": 2},
                },
            })
        };
        lights.into_iter().map(light).collect()
    }

    /// A pin on the center of a room, which opens its page of the journal.
    fn note(&mut self, entry: &RoomEntry, journal: &Value, page: &Value) -> Value {
        let (x, y) = self.middle(entry.center);
        json!({
            "_id": self.id(), "entryId": journal["_id"], "pageId": page["_id"], "x": x, "y": y,
            "texture": {"src": "icons/svg/book.svg"}, "iconSize": self.grid.max(32), "fontSize": 32,
            "text": entry.title, "textAnchor": 1, "textColor": "#ffffff", "global": true,
        })
    }

    /// A page for the floor, and one for each room, which players do not see.
    fn journal(&mut self, entries: &[RoomEntry]) -> Value {
        let id = self.id();
        let paragraph = |text: &str| format!("<p>{}</p>", in_html(text));
        let landmark =
            self.floor.landmark().map(|room| format!("Landmark: {}", room_key::entry(self.floor, room).title));
        let about = [self.floor.hook(), &self.what(), &landmark.unwrap_or_default()].map(paragraph).concat();
        let of_floor = (self.name(), about.replace("<p></p>", ""));
        let of_rooms = entries.iter().map(|entry| (entry.title.clone(), html(entry)));
        let page = |(sort, (name, content)): (u32, (String, String))| {
            json!({
                "_id": self.id(), "name": name, "type": "text", "sort": sort * 100_000,
                "title": {"show": true, "level": 1}, "text": {"format": 1, "content": content},
            })
        };
        let pages = (0..).zip([of_floor].into_iter().chain(of_rooms)).map(page).collect::<Vec<_>>();
        json!({"_id": id, "name": self.name(), "pages": pages, "ownership": {"default": 0}})
    }

    fn middle(&self, Point { x, y }: Point) -> (u32, u32) {
        (x * self.grid + self.grid / 2, y * self.grid + self.grid / 2)
    }
}

fn pages(journal: &Value) -> impl Iterator<Item = &Value> {
    journal["pages"].as_array().into_iter().flatten()
}

fn html(entry: &RoomEntry) -> String {
    let list = |lines: &[String]| lines.iter().map(|line| format!("<li>{}</li>", in_html(line))).collect::<String>();
    format!("<ul>{}</ul><p>Ways:</p><ul>{}</ul>", list(&entry.contents), list(&entry.ways))
}
