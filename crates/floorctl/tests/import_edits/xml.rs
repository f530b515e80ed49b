//! Tiled's JSON as the XML that Tiled writes for it.

use std::fmt::Write as _;

use serde_json::Value;

/// A map, a tileset or a template.
pub(crate) fn of(value: &Value) -> Vec<u8> {
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let root = match value["type"].as_str().unwrap() {
        "map" => "map",
        "tileset" => "tileset",
        "template" => "template",
        other => panic!("no {other}"),
    };
    element(&mut text, root, value);
    text.into_bytes()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

fn element(text: &mut String, tag: &str, of: &Value) {
    write!(text, "<{tag}").unwrap();
    for (name, value) in of.as_object().unwrap() {
        // The type of a map or a layer is its element; that of an object is its class.
        let is_kind = name == "type" && !matches!(tag, "object" | "tile");
        let shown = match value {
            Value::String(value)
                if !is_kind && !matches!(name.as_str(), "data" | "image" | "encoding" | "compression") =>
            {
                escaped(value)
            }
            Value::Number(number) => number.to_string(),
            Value::Bool(truth) if !matches!(name.as_str(), "point" | "ellipse") => u8::from(*truth).to_string(),
            _ => continue,
        };
        write!(text, " {name}=\"{shown}\"").unwrap();
    }
    text.push('>');
    properties(text, of);
    for tileset in list(&of["tilesets"]).chain(Some(&of["tileset"]).filter(|tileset| tileset.is_object())) {
        element(text, "tileset", tileset);
    }
    if let Some(image) = of["image"].as_str().filter(|image| !image.is_empty()) {
        let (width, height) = (&of["imagewidth"], &of["imageheight"]);
        let sides = if width.is_null() { String::new() } else { format!(" width=\"{width}\" height=\"{height}\"") };
        write!(text, "<image source=\"{}\"{sides}/>", escaped(image)).unwrap();
    }
    list(&of["tiles"]).for_each(|tile| element(text, "tile", tile));
    for layer in list(&of["layers"]) {
        let tag = match layer["type"].as_str().unwrap() {
            "tilelayer" => "layer",
            other => other,
        };
        element(text, tag, layer);
    }
    list(&of["objects"])
        .chain(Some(&of["object"]).filter(|it| it.is_object()))
        .for_each(|it| element(text, "object", it));
    for shape in ["point", "ellipse"] {
        if of[shape] == true {
            write!(text, "<{shape}/>").unwrap();
        }
    }
    for shape in ["polygon", "polyline"] {
        if let Some(corners) = of[shape].as_array() {
            let corners = corners.iter().map(|corner| format!("{},{}", corner["x"], corner["y"])).collect::<Vec<_>>();
            write!(text, "<{shape} points=\"{}\"/>", corners.join(" ")).unwrap();
        }
    }
    if tag == "layer" {
        data(text, of);
    }
    writeln!(text, "</{tag}>").unwrap();
}

fn properties(text: &mut String, of: &Value) {
    if of["properties"].is_null() {
        return;
    }
    text.push_str("<properties>");
    for property in list(&of["properties"]) {
        let (kind, value) = match &property["value"] {
            Value::String(value) => ("string", value.clone()),
            Value::Bool(value) => ("bool", value.to_string()),
            Value::Number(value) if value.is_f64() => ("float", value.to_string()),
            value => ("int", value.to_string()),
        };
        let name = escaped(property["name"].as_str().unwrap());
        write!(text, "<property name=\"{name}\" type=\"{kind}\" value=\"{}\"/>", escaped(&value)).unwrap();
    }
    text.push_str("</properties>");
}

fn data(text: &mut String, layer: &Value) {
    let tiles = |data: &Value| match data {
        Value::String(packed) => packed.clone(),
        data => list(data).map(Value::to_string).collect::<Vec<_>>().join(","),
    };
    let encoding = layer["encoding"].as_str().unwrap_or("csv");
    write!(text, "<data encoding=\"{encoding}\"").unwrap();
    if let Some(compression) = layer["compression"].as_str().filter(|compression| !compression.is_empty()) {
        write!(text, " compression=\"{compression}\"").unwrap();
    }
    text.push('>');
    match layer["chunks"].as_array() {
        Some(chunks) => {
            for chunk in chunks {
                let side = |name: &str| format!(" {name}=\"{}\"", chunk[name]);
                let sides = ["x", "y", "width", "height"].map(side).concat();
                write!(text, "<chunk{sides}>{}</chunk>", tiles(&chunk["data"])).unwrap();
            }
        }
        None => text.push_str(&tiles(&layer["data"])),
    }
    text.push_str("</data>");
}
