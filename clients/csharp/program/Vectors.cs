// Checks the decoder with the test vectors. Only this file needs Newtonsoft.Json.
using System;
using System.Collections;
using System.IO;
using System.Linq;
using System.Reflection;
using Newtonsoft.Json.Linq;

namespace Floors
{
    internal static class Vectors
    {
        private static string folder;
        private static int vectors, wrong;

        public static int Check(string path)
        {
            folder = path;
            var manifest = Json("manifest.json");
            foreach (var vector in manifest["requests"].Where(vector => (string)vector["message"] == "GetFloorRequest"))
            {
                var spec = vector["json"]["spec"];
                var request = new FloorSpec
                {
                    Seed = ulong.Parse((string)spec["seed"] ?? "0"), Number = (uint)spec["number"],
                    Width = (int?)spec["width"] ?? 0, Height = (int?)spec["height"] ?? 0,
                    Kind = Value<FloorKind>(spec["kind"], "FLOOR_KIND_"), Pack = (string)spec["pack"],
                    View = Value<View>(spec["view"], "VIEW_"),
                };
                Expect(vector, Hex(request.EncodeRequest()) == (string)vector["bytes"]);
            }
            foreach (var vector in manifest["floors"]) CheckFloor(vector);
            foreach (var vector in manifest["ways"])
            {
                var floor = manifest["floors"].First(one => (string)one["name"] == (string)vector["floor"]);
                CheckWays(Floor.Decode(Bytes(floor), Asked(floor)), vector);
            }
            foreach (var vector in manifest["seeds"])
            {
                var name = (string)vector["text"];
                var expected = (string)vector["seed"];
                Expect("the tower " + name, expected == null
                    ? Throws(() => Seed.Of(name)) is ArgumentException : Seed.Of(name).ToString() == expected);
            }
            foreach (var vector in manifest["grids"])
            {
                var cells = Grid.Read(Unhex(vector["bytes"])).Cells();
                var expected = (string)vector["cells"];
                Expect(vector, expected != null ? Hex(cells) == expected : Hash(cells) == (string)vector["cells_xxh3"]);
            }
            foreach (var vector in manifest["malformed_grids"])
                Expect(vector, Fault(() => Grid.Read(Unhex(vector["bytes"])).Cells()) == "grid");
            foreach (var vector in manifest["malformed_floors"])
                Expect(vector, Fault(() => Floor.Decode(Bytes(vector), Asked(vector))) == (string)vector["error"]);
            var text = new ProtobufReader(new byte[] { 0x0a, 1, 0xff });
            Expect("a text that is no UTF-8", text.Next() && Fault(() => text.Text()) == "protobuf");
            CheckArguments();
            Console.WriteLine("{0} vectors, {1} wrong", vectors, wrong);
            return wrong == 0 && vectors > 0 ? 0 : 1;
        }

        // What cannot be sent as it was meant is refused: a row for each.
        private static void CheckArguments()
        {
            var spec = new FloorSpec { Seed = ulong.MaxValue, Number = 1, Pack = "mine@00000000000000ff" };
            Expect("a spec", Throws(() => spec.EncodeRequest()) == null);
            foreach (var pack in new[] { "m\u0161ne", "mine\r", " mine", "\ufeffmine", "mine\u200b", new string('a', 50) })
                Expect("the pack " + pack, Throws(() => new FloorSpec { Number = 1, Pack = pack }.EncodeRequest()) is ArgumentException);
            var named = new FloorSpec("caf\u00e9", 7);
            Expect("a text for a seed", named.Seed == 5253592154431032713 && named.Number == 7);
            foreach (var name in new[] { null, "\ud800" })
                Expect("a text that names no tower", Throws(() => new FloorSpec(name, 7)) is ArgumentException);
            var unseen = new FloorSpec { Number = 1, View = (View)(-1) };
            Expect("a view", Throws(() => unseen.EncodeRequest()) is ArgumentException);
            Expect("a width", Throws(() => new FloorSpec { Number = 1, Width = -1 }.EncodeRequest()) is ArgumentException);
            foreach (var url in new[] { "http://127.0.0.1:1", "http://127.0.0.1:1/", "HTTP://127.0.0.1:1" })
                Expect(url, Throws(() => new FloorClient(new Uri(url)).Dispose()) == null);
            foreach (var url in new[] { "http://host/floors", "http://host?x=1", "http://host#x", "http://me:hush@host", "ftp://host" })
                Expect(url, Throws(() => new FloorClient(new Uri(url)).Dispose()) is ArgumentException error && !error.Message.Contains("hush"));
            foreach (var token in new[] { "", "hush\r\n", " hush", "\ufeffhush" })
                Expect("a token", Throws(() => new FloorClient(new Uri("http://127.0.0.1:1"), token).Dispose()) is ArgumentException);
        }

        private static Exception Throws(Action action)
        {
            try
            {
                action();
                return null;
            }
            catch (Exception error)
            {
                return error;
            }
        }

        private static void CheckFloor(JToken vector)
        {
            var floor = Floor.Decode(Bytes(vector), Asked(vector));
            Expect(vector, floor.ContentHash.ToString("x16") == (string)vector["content_hash"]);
            Expect(vector, Hash(floor.Terrain) == (string)vector["terrain"]["cells_xxh3"]);
            Expect(vector, Hash(floor.Region) == (string)vector["region"]["cells_xxh3"]);
            var other = floor.Spec;
            other.View = View.Player - (int)other.View;
            Expect("the other view of " + floor, Fault(() => Floor.Decode(Bytes(vector), other)) == "spec");
            if ((string)vector["name"] == "pack_authored")
            {
                var grave = floor.Furniture.Find(furniture => furniture.Archetype == "grave");
                Expect("names", floor.Name.Text == "The Sexton's Rest" && floor.Landmark.Name.Text == "The Round Chapel");
                Expect("furniture", grave != null && grave.At.Count == 2 && grave.At[1].X == 14 && grave.At[1].Y == 18);
            }
            if (vector["json"] == null) return;
            var json = Json((string)vector["json"])["floor"];
            Expect(vector, Same(floor, json));
            Expect((string)vector["name"] + ": what a game shows", SameSurface(floor, json));
        }

        private static void CheckWays(Floor floor, JToken vector)
        {
            var keys = vector["keys"].Select(key => (int)key).ToArray();
            Point from = PointOf(vector["from"]), to = PointOf(vector["to"]);
            var path = vector["path"].HasValues ? vector["path"].Select(PointOf).ToList() : null;
            var name = "ways of " + (string)vector["floor"] + ", ";
            var reached = floor.Reachable(from, keys).Select(reaches => (byte)(reaches ? 1 : 0)).ToArray();
            Expect(name + "reachable", Hash(reached) == (string)vector["reachable_xxh3"]);
            var found = floor.Path(from, to, keys);
            Expect(name + "path", path == null ? found == null : found != null && found.SequenceEqual(path));
            Expect(name + "distance", floor.Distance(from, to, keys) == path?.Count - 1);
            Expect(name + "starts", floor.Starts(6).SequenceEqual(vector["starts"].Select(PointOf)));
        }

        private static Point PointOf(JToken cell)
        {
            return new Point { X = (int)cell[0], Y = (int)cell[1] };
        }

        // The name, the hook, the landmark and the first furniture.
        private static bool SameSurface(Floor floor, JToken json)
        {
            if (floor.Name.Text != TextOf(json["name"]) || floor.Hook.Text != TextOf(json["hook"])) return false;
            var id = ((int?)json["landmark"] ?? 0) - 1;
            var landmark = floor.Landmark;
            if (id < 0 ? landmark != null : landmark == null || landmark.Id != id || landmark.Name.Text != TextOf(json["rooms"][id]["name"]))
                return false;
            if (json["furniture"] == null) return floor.Furniture.Count == 0;
            var first = floor.Furniture[0];
            var cell = (int)json["furniture"][0]["cells"][0];
            return first.Archetype == (string)json["furniture"][0]["archetype"] && first.At[0].Y * floor.Width + first.At[0].X == cell;
        }

        private static string TextOf(JToken named)
        {
            return named == null ? "" : (string)named["text"];
        }

        // Whether a decoded value is that of proto3 JSON, in which a value of 0 is missing.
        private static bool Same(object value, JToken json)
        {
            if (value is string text) return text == ((string)json ?? "");
            if (value is bool flag) return flag == ((bool?)json ?? false);
            if (value is Enum && json == null) return Convert.ToInt32(value) == 0;
            var prefixes = new[] { "FLOOR_KIND_", "ROOM_ROLE_", "BEHAVIOUR_", "VIEW_" };
            if (value is Enum) return prefixes.Any(prefix => Same(json, prefix, value));
            if (value is ulong || value is uint || value is int) return value.ToString() == ((string)json ?? "0");
            if (value is FloorText && json == null) return value.ToString() == "";
            if (value is Furniture furniture) return Same(furniture.Archetype, json["archetype"]) && furniture.At.Count == json["cells"].Count();
            if (value is byte[]) return true; // The cells, which the message has encoded.
            if (value is IList list)
            {
                var items = list.Cast<object>().Select((item, i) => i < json.Count() && Same(item, json[i]));
                return list.Count == (json?.Count() ?? 0) && items.All(same => same);
            }
            var type = value.GetType();
            // Width and Height of a floor are those of its spec.
            var properties = type.GetProperties().Where(property => property.CanWrite || property.PropertyType.IsGenericType);
            return type.GetFields().All(field => Same(field.GetValue(value), json[CamelCase(field)])) &&
                properties.All(property => Same(property.GetValue(value), json[CamelCase(property)]));
        }

        private static string CamelCase(MemberInfo member)
        {
            return char.ToLowerInvariant(member.Name[0]) + member.Name.Substring(1);
        }

        private static bool Same(JToken json, string prefix, object value)
        {
            return string.Equals((string)json, prefix + value, StringComparison.OrdinalIgnoreCase);
        }

        private static T Value<T>(JToken json, string prefix)
        {
            return json == null ? default(T) : (T)Enum.Parse(typeof(T), ((string)json).Substring(prefix.Length), true);
        }

        // The class of the error, which stands in the message after the code.
        private static string Fault(Action decode)
        {
            try
            {
                decode();
                return "none";
            }
            catch (FloorException error)
            {
                return error.Message.Split(new[] { ": " }, StringSplitOptions.None)[1];
            }
        }

        private static FloorSpec? Asked(JToken vector)
        {
            if (vector["request"] == null) return null;
            var request = new ProtobufReader(Unhex(vector["request"]));
            return request.Next() ? FloorSpec.Read(request.Message()) : new FloorSpec();
        }

        private static void Expect(JToken vector, bool right)
        {
            Expect((string)vector["name"], right);
        }

        private static void Expect(string name, bool right)
        {
            vectors++;
            if (right) return;
            wrong++;
            Console.WriteLine("wrong: {0}", name);
        }

        private static JObject Json(string path)
        {
            return JObject.Parse(File.ReadAllText(Path.Combine(folder, path)));
        }

        private static byte[] Bytes(JToken vector)
        {
            return File.ReadAllBytes(Path.Combine(folder, (string)vector["bytes"]));
        }

        private static string Hash(byte[] cells)
        {
            return Xxh3.Hash64(cells).ToString("x16");
        }

        private static string Hex(byte[] bytes)
        {
            return string.Concat(bytes.Select(value => value.ToString("x2")));
        }

        private static byte[] Unhex(JToken hex)
        {
            var text = (string)hex;
            return Enumerable.Range(0, text.Length / 2).Select(i => Convert.ToByte(text.Substring(2 * i, 2), 16)).ToArray();
        }
    }
}
