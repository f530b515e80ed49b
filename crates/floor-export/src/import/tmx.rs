//! Tiled's XML as its JSON, so that both have one reader: <https://doc.mapeditor.org/en/stable/reference/tmx-map-format/>.

use roxmltree::{Document, Node};
use serde_json::{Map as Values, Value, json};

use super::{ImportError, report::held, wrong};

/// Groups of layers inside each other. Tiled's users have a few.
const DEEPEST: usize = 64;

/// The attributes that are numbers, and those that are true or false.
const NUMBERS: [&str; 16] = [
    "columns",
    "firstgid",
    "gid",
    "height",
    "id",
    "offsetx",
    "offsety",
    "rotation",
    "tilecount",
    "tileheight",
    "tilewidth",
    "width",
    "x",
    "y",
    "nextlayerid",
    "nextobjectid",
];
const TRUTHS: [&str; 2] = ["infinite", "visible"];

/// A map, a tileset or a template.
pub(super) fn to_json(text: &str) -> Result<Value, ImportError> {
    let document = Document::parse(text)?;
    let root = document.root_element();
    match root.tag_name().name() {
        "map" => {
            let map = layers(root, 0)?;
            let is_in_tileset = |object: &Node<'_, '_>| object.ancestors().any(|around| around.has_tag_name("tileset"));
            let objects = root.descendants().filter(|node| node.has_tag_name("object") && !is_in_tileset(node)).count();
            let read = held(&map, "objects");
            let lost = || wrong(format!("the map has {objects} objects, of which {read} stand in layers of objects"));
            (read == objects).then_some(map).ok_or_else(lost)
        }
        "tileset" => Ok(tileset(root)),
        "template" => {
            let mut template = attributes(root);
            template["type"] = "template".into();
            for child in root.children().filter(Node::is_element) {
                match child.tag_name().name() {
                    "tileset" => template["tileset"] = tileset(child),
                    "object" => template["object"] = object(child),
                    _ => {}
                }
            }
            Ok(template)
        }
        other => Err(wrong(format!("it is XML whose root is <{other}>; a map of Tiled has <map>"))),
    }
}

/// What has layers: a map or a group.
fn layers(of: Node<'_, '_>, depth: usize) -> Result<Value, ImportError> {
    if depth > DEEPEST {
        return Err(wrong(format!("the map has more than {DEEPEST} groups inside each other")));
    }
    let mut value = attributes(of);
    let (mut tilesets, mut layers_of) = (Vec::new(), Vec::new());
    for child in of.children().filter(Node::is_element) {
        let mut layer = match child.tag_name().name() {
            "tileset" => {
                tilesets.push(tileset(child));
                continue;
            }
            "properties" | "editorsettings" => continue,
            "group" => layers(child, depth + 1)?,
            _ => attributes(child),
        };
        let kind = match child.tag_name().name() {
            "layer" => {
                tile_data(child, &mut layer);
                "tilelayer"
            }
            "objectgroup" => {
                layer["objects"] = elements(child, "object").map(object).collect();
                "objectgroup"
            }
            "imagelayer" => {
                layer["image"] = elements(child, "image")
                    .next()
                    .map_or("", |image| image.attribute("source").unwrap_or("inside"))
                    .into();
                "imagelayer"
            }
            other => other,
        };
        layer["type"] = kind.into();
        layers_of.push(layer);
    }
    value["layers"] = layers_of.into();
    value["tilesets"] = tilesets.into();
    Ok(value)
}

fn elements<'a, 'b>(of: Node<'a, 'b>, name: &'static str) -> impl Iterator<Item = Node<'a, 'b>> {
    of.children().filter(move |child| child.has_tag_name(name))
}

/// The attributes and the properties of an element.
fn attributes(of: Node<'_, '_>) -> Value {
    let value = |name: &str, text: &str| match name {
        name if NUMBERS.contains(&name) => number(text),
        name if TRUTHS.contains(&name) => (text == "1" || text == "true").into(),
        _ => text.into(),
    };
    let all = of.attributes().map(|it| (it.name().to_owned(), value(it.name(), it.value())));
    let mut values = all.collect::<Values<_, _>>();
    let properties = elements(of, "properties").flat_map(|properties| elements(properties, "property"));
    let properties = properties.map(property).collect::<Vec<_>>();
    if !properties.is_empty() {
        values.insert("properties".to_owned(), properties.into());
    }
    Value::Object(values)
}

/// A number; the text if it is none, which the reader then refuses.
fn number(text: &str) -> Value {
    let whole = text.parse::<u64>().map(Value::from).or_else(|_| text.parse::<i64>().map(Value::from));
    whole.unwrap_or_else(|_| match text.parse::<f64>() {
        Ok(number) if number.is_finite() => number.into(),
        _ => text.into(),
    })
}

/// A property. One of several lines is the text of its element, and a class or a list has others inside.
fn property(of: Node<'_, '_>) -> Value {
    let text = of.attribute("value").or_else(|| of.text()).unwrap_or_default();
    let value = match of.attribute("type") {
        Some("int" | "float" | "object") => number(text),
        Some("bool") => (text == "true").into(),
        // No field of a floor has parts.
        Some("class" | "list") => json!({}),
        _ => text.into(),
    };
    json!({"name": of.attribute("name"), "value": value})
}

fn tileset(of: Node<'_, '_>) -> Value {
    let mut value = attributes(of);
    value["tiles"] = elements(of, "tile").map(attributes).collect();
    value
}

fn object(of: Node<'_, '_>) -> Value {
    let mut value = attributes(of);
    for child in of.children().filter(Node::is_element) {
        match child.tag_name().name() {
            "properties" => {}
            shape @ ("polygon" | "polyline") => value[shape] = points(child.attribute("points").unwrap_or_default()),
            shape => value[shape] = true.into(),
        }
    }
    value
}

/// `0,0 32,-16`.
fn points(text: &str) -> Value {
    let point = |pair: &str| {
        let (x, y) = pair.split_once(',').unwrap_or((pair, ""));
        json!({"x": number(x), "y": number(y)})
    };
    text.split_ascii_whitespace().map(point).collect()
}

fn tile_data(layer: Node<'_, '_>, value: &mut Value) {
    let Some(data) = elements(layer, "data").next() else { return };
    let encoding = data.attribute("encoding").unwrap_or_default();
    value["compression"] = data.attribute("compression").unwrap_or_default().into();
    let tiles = |part: Node<'_, '_>| -> Value {
        let text = || part.children().filter_map(|child| child.text()).collect::<String>();
        match encoding {
            "base64" => text().into(),
            "csv" => text().split(',').map(|tile| number(tile.trim())).collect(),
            _ => elements(part, "tile").map(|tile| number(tile.attribute("gid").unwrap_or("0"))).collect(),
        }
    };
    // A layer without end that is empty has neither chunks nor text.
    let is_empty = data.children().all(|child| child.text().is_some_and(|text| text.trim().is_empty()));
    if elements(data, "chunk").next().is_none() && !is_empty {
        value["data"] = tiles(data);
        return;
    }
    let chunk = |chunk: Node<'_, '_>| {
        let mut value = attributes(chunk);
        value["data"] = tiles(chunk);
        value
    };
    value["chunks"] = elements(data, "chunk").map(chunk).collect();
}
