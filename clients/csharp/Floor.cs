// A floor as a game uses it, decoded from a floors.v1.Floor and checked (proto/floors/v1/floors.proto).
using System;
using System.Collections.Generic;

namespace Floors
{
    /// <summary>What of a floor is sent: everything if unspecified, or what a player may know on arrival.</summary>
    public enum View { Unspecified, Player }

    public enum FloorKind { Unspecified, Standard, Keep, Halls, Cavern, Cyclic, Maze, Boss, Event, Story }

    public enum Terrain : byte
    {
        Unspecified, Wall, Floor, Door, LockedDoor, SecretDoor, StairsUp, StairsDown, ShallowWater, DeepWater, Lava, Chasm,
        Bridge, Grass, Rubble, Pillar,
    }

    public enum RoomRole { Unspecified, Entry, Exit, Combat, Treasure, Key, Shrine, Shop, Boss, Vault, Secret, Passage }

    /// <summary>What a monster does until it notices a player. Treat an unknown one as Guards.</summary>
    public enum Behaviour { Unspecified, Sleeps, Guards, Patrols, Wanders }

    /// <summary>Names a floor. In a request, what is 0 is left to the server, except for the seed.</summary>
    public struct FloorSpec
    {
        public ulong Seed;
        public uint Number;
        public int Width;
        public int Height;
        public FloorKind Kind;
        /// <summary>The pack that has the content: NAME, or NAME@HASH for one version; null for the server's.</summary>
        public string Pack;
        /// <summary>A floor in one view is another floor than in the other: their content hashes differ.</summary>
        public View View;

        /// <summary>The floor of the tower that a text names: new FloorSpec("my dungeon", 7).</summary>
        /// <exception cref="ArgumentException">The text names no tower; see <see cref="Floors.Seed.Of"/>.</exception>
        public FloorSpec(string seed, uint number) : this()
        {
            Seed = Floors.Seed.Of(seed);
            Number = number;
        }

        /// <summary>The bytes of a GetFloorRequest.</summary>
        public byte[] EncodeRequest()
        {
            if (Width < 0 || Height < 0 || Kind < 0 || View < 0)
                throw new ArgumentException("a size, kind or view is negative");
            var fields = new List<byte>();
            var values = new[] { Seed, Number, (uint)Width, (uint)Height, (ulong)Kind };
            for (var i = 0; i < values.Length; i++) Write(fields, i + 1, values[i]);
            if (!string.IsNullOrEmpty(Pack))
            {
                // Names are ASCII and shorter than 128 bytes, which one byte states.
                if (Pack.Length > 49) throw new ArgumentException("a pack has at most 49 characters, NAME@HASH");
                foreach (var character in Pack)
                    if (character < '!' || character > '~')
                        throw new ArgumentException("the pack \"" + Pack + "\" has the character U+" + ((int)character).ToString("X4") + "; write NAME or NAME@HASH");
                fields.Add((byte)(6 << 3 | 2));
                fields.Add((byte)Pack.Length);
                foreach (var character in Pack) fields.Add((byte)character);
            }
            Write(fields, 7, (ulong)View);
            fields.InsertRange(0, new[] { (byte)(1 << 3 | 2), (byte)fields.Count });
            return fields.ToArray();
        }

        private static void Write(List<byte> fields, int field, ulong value)
        {
            if (value == 0) return;
            fields.Add((byte)(field << 3));
            for (; value > 0x7F; value >>= 7) fields.Add((byte)(value & 0x7F | 0x80));
            fields.Add((byte)value);
        }

        internal static FloorSpec Read(ProtobufReader reader)
        {
            var spec = new FloorSpec { Pack = "" };
            while (reader.Next())
                switch (reader.Field)
                {
                    case 1: spec.Seed = reader.UInt64(); break;
                    case 2: spec.Number = reader.UInt32(); break;
                    case 3: spec.Width = reader.Int(); break;
                    case 4: spec.Height = reader.Int(); break;
                    case 5: spec.Kind = (FloorKind)reader.Int(); break;
                    case 6: spec.Pack = reader.Text(); break;
                    case 7: spec.View = (View)reader.Int(); break;
                    default: reader.Skip(); break;
                }
            return spec;
        }

        internal bool Answers(FloorSpec asked)
        {
            return Seed == asked.Seed && Number == asked.Number && (asked.Width == 0 || asked.Width == Width) &&
                (asked.Height == 0 || asked.Height == Height) && (asked.Kind == 0 || asked.Kind == Kind) &&
                IsOfPack(asked.Pack) && View == asked.View;
        }

        /// <summary>Whether this is the pack that was asked for; null or empty asks for any.</summary>
        private bool IsOfPack(string asked)
        {
            if (string.IsNullOrEmpty(asked) || asked == Pack) return true;
            return asked == (string.IsNullOrEmpty(Pack) ? "tower" : Pack.Split('@')[0]);
        }

        public override string ToString()
        {
            var view = View == View.Unspecified ? "" : ", view " + View;
            return "floor " + Number + " of tower " + Seed + ", " + Width + "x" + Height + ", " + Kind + view;
        }
    }

    /// <summary>A cell: x right, y down, from 0.</summary>
    public struct Point
    {
        public int X;
        public int Y;

        internal static Point Read(ProtobufReader reader)
        {
            var point = new Point();
            while (reader.Next())
                switch (reader.Field)
                {
                    case 1: point.X = reader.Int(); break;
                    case 2: point.Y = reader.Int(); break;
                    default: reader.Skip(); break;
                }
            return point;
        }
    }

    public sealed class Room
    {
        /// <summary>Its index in <see cref="Floor.Rooms"/>; the region holds id + 1 in each of its cells.</summary>
        public int Id;
        /// <summary>The least x and y of its cells.</summary>
        public Point Min;
        /// <summary>The greatest x and y of its cells.</summary>
        public Point Max;
        public RoomRole Role;
        /// <summary>A passable cell of the room.</summary>
        public Point Center;
        /// <summary>What the room is called; empty for most rooms.</summary>
        public FloorText Name = new FloorText();
    }

    /// <summary>A text in the language of its pack, with ids to say it in another. Empty where a floor has none.</summary>
    public sealed class FloorText
    {
        public string Text = "";
        /// <summary>The sentence.</summary>
        public string Id = "";
        /// <summary>The parts in the order of their places.</summary>
        public List<string> Parts = new List<string>();

        public override string ToString()
        {
            return Text;
        }

        internal static FloorText Read(ProtobufReader reader)
        {
            var text = new FloorText();
            while (reader.Next())
                switch (reader.Field)
                {
                    case 1: text.Text = reader.Text(); break;
                    case 2: text.Id = reader.Text(); break;
                    case 3: text.Parts.Add(reader.Text()); break;
                    default: reader.Skip(); break;
                }
            return text;
        }
    }

    /// <summary>Furniture of one type. One can walk over it unless the terrain of its cell is a pillar.</summary>
    public sealed class Furniture
    {
        /// <summary>The name of the type. Treat an unknown one as decoration.</summary>
        public string Archetype = "";
        /// <summary>Its cells.</summary>
        public List<Point> At = new List<Point>();
    }

    /// <summary>A connection of two rooms, usable in both directions.</summary>
    public sealed class Connection
    {
        public int FromRoom;
        public int ToRoom;
        /// <summary>The lock on it, 0 if it is open.</summary>
        public int LockId;
        /// <summary>Leads through a secret door.</summary>
        public bool Secret;
    }

    /// <summary>A monster or a trap. A trap has neither behaviour nor group.</summary>
    public sealed class Spawn
    {
        public Point At;
        public string Archetype = "";
        public int Level;
        public Behaviour Behaviour;
        /// <summary>Monsters of one group act together; 0 if it is alone.</summary>
        public int Group;
    }

    /// <summary>Loot or a key.</summary>
    public sealed class Item
    {
        public Point At;
        public string Archetype = "";
        public uint Value;
        /// <summary>The lock that this key opens, 0 if it is no key.</summary>
        public int OpensLock;
    }

    public sealed class Lock
    {
        public int Id;
        /// <summary>Its locked door.</summary>
        public Point At;
    }

    public sealed class FloorMetrics
    {
        /// <summary>Steps from the entry to the exit, by way of the keys that are needed.</summary>
        public int CriticalPath;
        /// <summary>Cells that are passable without a key and without searching.</summary>
        public int PassableCells;
        /// <summary>Independent cycles in the graph of rooms.</summary>
        public int Loops;
        /// <summary>Sum of the levels of the monsters that one meets on that way, in thousandths.</summary>
        public int Difficulty;
    }

    /// <summary>A floor whose hash, grids and points are checked.</summary>
    public sealed partial class Floor
    {
        private const int HashField = 3;

        public FloorSpec Spec { get; private set; }
        public uint GeneratorVersion { get; private set; }
        public ulong ContentHash { get; private set; }
        /// <summary>A <see cref="Floors.Terrain"/> for each cell: cell (x, y) is at y * Width + x.</summary>
        public byte[] Terrain { get; private set; }
        /// <summary>The room id + 1 of each cell, 0 outside rooms.</summary>
        public byte[] Region { get; private set; }
        public Point Entry { get; private set; }
        public Point Exit { get; private set; }
        /// <summary>Who falls through a chasm of the floor above lands on the same cell if it is passable here, else on
        /// this one. The entry for a floor without one, as those before generator version 4.</summary>
        public Point Landing { get; private set; }
        public List<Room> Rooms { get; } = new List<Room>();
        public List<Connection> Connections { get; } = new List<Connection>();
        public List<Spawn> Spawns { get; } = new List<Spawn>();
        public List<Item> Items { get; } = new List<Item>();
        public List<Lock> Locks { get; } = new List<Lock>();
        public List<Spawn> Traps { get; } = new List<Spawn>();
        public FloorMetrics Metrics { get; private set; } = new FloorMetrics();
        /// <summary>The name of its theme; empty for a floor of the built-in pack before generator version 4.</summary>
        public string Theme { get; private set; } = "";
        /// <summary>The hash of the pack in Spec.Pack; 0 for the built-in pack.</summary>
        public ulong PackHash { get; private set; }
        /// <summary>What the floor is called; empty before generator version 5, and for authored floors without a
        /// name.</summary>
        public FloorText Name { get; private set; } = new FloorText();
        /// <summary>A sentence that makes one want to go there; empty where the name is.</summary>
        public FloorText Hook { get; private set; } = new FloorText();
        /// <summary>The room that the floor is remembered by, null if there is none.</summary>
        public Room Landmark => Rooms.Find(room => room.Id == landmark - 1);
        /// <summary>What rooms are furnished with, an entry for each type.</summary>
        public List<Furniture> Furniture { get; } = new List<Furniture>();

        private int landmark;

        public int Width => Spec.Width;
        public int Height => Spec.Height;

        private Floor()
        {
        }

        /// <summary>What a cell is made of; unspecified outside the floor. Treat an unknown terrain as impassable.</summary>
        public Terrain TerrainAt(int x, int y)
        {
            return Has(x, y) ? (Terrain)Terrain[y * Width + x] : Floors.Terrain.Unspecified;
        }

        /// <summary>Its spec, and its name if it has one.</summary>
        public override string ToString()
        {
            return Name.Text == "" ? Spec.ToString() : Spec + ": " + Name;
        }

        /// <summary>Decodes and checks the bytes of a Floor, such as the body of an answer.</summary>
        /// <param name="asked">The spec of the request, which the floor must match.</param>
        /// <exception cref="FloorException">The bytes are no floor, or another one.</exception>
        public static Floor Decode(byte[] encoded, FloorSpec? asked = null)
        {
            var floor = new Floor();
            var points = new List<Point?>();
            Grid terrain = null, region = null;
            FloorSpec? spec = null;
            var steps = new List<List<int>>();
            Point? entry = null, exit = null, landing = null;
            var hashed = new List<byte>(encoded.Length);
            var hashes = 0;
            var reader = new ProtobufReader(encoded);
            for (var start = 0; reader.Next(); start = reader.Position)
            {
                switch (reader.Field)
                {
                    case 1: spec = FloorSpec.Read(reader.Message()); break;
                    case 2: floor.GeneratorVersion = reader.UInt32(); break;
                    case HashField: floor.ContentHash = reader.Fixed(); break;
                    case 4: terrain = Grid.Read(reader.Message()); break;
                    case 5: region = Grid.Read(reader.Message()); break;
                    case 6: entry = Point.Read(reader.Message()); break;
                    case 7: exit = Point.Read(reader.Message()); break;
                    case 8: floor.Rooms.Add(ReadRoom(reader.Message(), points)); break;
                    case 9: floor.Connections.Add(ReadConnection(reader.Message())); break;
                    case 10: floor.Spawns.Add(ReadSpawn(reader.Message(), points)); break;
                    case 11: floor.Items.Add(ReadItem(reader.Message(), points)); break;
                    case 12: floor.Locks.Add(ReadLock(reader.Message(), points)); break;
                    case 13: floor.Metrics = ReadMetrics(reader.Message()); break;
                    case 14: floor.Traps.Add(ReadSpawn(reader.Message(), points)); break;
                    case 15: floor.Theme = reader.Text(); break;
                    case 16: floor.PackHash = reader.Fixed(); break;
                    case 17: landing = Point.Read(reader.Message()); break;
                    case 18: floor.Name = FloorText.Read(reader.Message()); break;
                    case 19: floor.Hook = FloorText.Read(reader.Message()); break;
                    case 20: floor.landmark = reader.Int(); break;
                    case 21: floor.Furniture.Add(ReadFurniture(reader.Message(), steps)); break;
                    default: reader.Skip(); break;
                }
                if (reader.Field == HashField) hashes++;
                else hashed.AddRange(new ArraySegment<byte>(encoded, start, reader.Position - start));
            }
            if (hashes != 1 || hashed.Count < Xxh3.MinBytes || Xxh3.Hash64(hashed.ToArray()) != floor.ContentHash)
                throw FloorException.Invalid("hash", "the content hash is not that of the bytes");
            points.Add(entry);
            points.Add(exit);
            points.Add(landing ?? entry);
            if (spec == null || terrain == null || region == null || points.Contains(null))
                throw FloorException.Invalid("missing", "a field that every floor has is missing");
            floor.Spec = spec.Value;
            floor.Entry = entry.Value;
            floor.Exit = exit.Value;
            floor.Landing = landing ?? entry.Value;
            floor.Terrain = floor.Cells(terrain);
            floor.Region = floor.Cells(region);
            if (Array.IndexOf(floor.Terrain, (byte)Floors.Terrain.Unspecified) >= 0)
                throw FloorException.Invalid("terrain", "a cell holds no terrain");
            if (!points.TrueForAll(point => floor.Has(point.Value.X, point.Value.Y)))
                throw FloorException.Invalid("outside", "a point lies outside the floor");
            for (var i = 0; i < steps.Count; i++) floor.Place(floor.Furniture[i], steps[i]);
            if (asked != null && !floor.Spec.Answers(asked.Value))
                throw FloorException.Invalid("spec", "the server sent another floor: " + floor.Spec);
            return floor;
        }

        /// <summary>Sums up the differences of cells.</summary>
        private void Place(Furniture furniture, List<int> steps)
        {
            long cell = 0;
            foreach (var step in steps)
            {
                cell += step;
                // A step beyond 31 bits is negative.
                if (step < 0 || cell >= (long)Width * Height)
                    throw FloorException.Invalid("outside", "furniture lies outside the floor");
                furniture.At.Add(new Point { X = (int)(cell % Width), Y = (int)(cell / Width) });
            }
        }

        private bool Has(int x, int y)
        {
            return x >= 0 && x < Width && y >= 0 && y < Height;
        }

        private byte[] Cells(Grid grid)
        {
            if (grid.Width != Width || grid.Height != Height)
                throw FloorException.Invalid("grid", "it has " + grid.Width + "x" + grid.Height + " cells in " + Spec);
            return grid.Cells();
        }

        // What follows notes each point, for the checks: null for a missing one.

        private static Point ReadPoint(Point? point, List<Point?> points)
        {
            points.Add(point);
            return point.GetValueOrDefault();
        }

        private static Room ReadRoom(ProtobufReader reader, List<Point?> points)
        {
            var room = new Room();
            Point? min = null, max = null, center = null;
            while (reader.Next())
                switch (reader.Field)
                {
                    case 1: room.Id = reader.Int(); break;
                    case 2: min = Point.Read(reader.Message()); break;
                    case 3: max = Point.Read(reader.Message()); break;
                    case 4: room.Role = (RoomRole)reader.Int(); break;
                    case 5: center = Point.Read(reader.Message()); break;
                    case 6: room.Name = FloorText.Read(reader.Message()); break;
                    default: reader.Skip(); break;
                }
            room.Min = ReadPoint(min, points);
            room.Max = ReadPoint(max, points);
            room.Center = ReadPoint(center, points);
            return room;
        }

        private static Connection ReadConnection(ProtobufReader reader)
        {
            var connection = new Connection();
            while (reader.Next())
                switch (reader.Field)
                {
                    case 1: connection.FromRoom = reader.Int(); break;
                    case 2: connection.ToRoom = reader.Int(); break;
                    case 3: connection.LockId = reader.Int(); break;
                    case 4: connection.Secret = reader.UInt64() != 0; break;
                    default: reader.Skip(); break;
                }
            return connection;
        }

        private static Spawn ReadSpawn(ProtobufReader reader, List<Point?> points)
        {
            var spawn = new Spawn();
            Point? at = null;
            while (reader.Next())
                switch (reader.Field)
                {
                    case 1: at = Point.Read(reader.Message()); break;
                    case 2: spawn.Archetype = reader.Text(); break;
                    case 3: spawn.Level = reader.Int(); break;
                    case 4: spawn.Behaviour = (Behaviour)reader.Int(); break;
                    case 5: spawn.Group = reader.Int(); break;
                    default: reader.Skip(); break;
                }
            spawn.At = ReadPoint(at, points);
            return spawn;
        }

        private static Item ReadItem(ProtobufReader reader, List<Point?> points)
        {
            var item = new Item();
            Point? at = null;
            while (reader.Next())
                switch (reader.Field)
                {
                    case 1: at = Point.Read(reader.Message()); break;
                    case 2: item.Archetype = reader.Text(); break;
                    case 3: item.Value = reader.UInt32(); break;
                    case 4: item.OpensLock = reader.Int(); break;
                    default: reader.Skip(); break;
                }
            item.At = ReadPoint(at, points);
            return item;
        }

        private static Lock ReadLock(ProtobufReader reader, List<Point?> points)
        {
            var result = new Lock();
            Point? at = null;
            while (reader.Next())
                switch (reader.Field)
                {
                    case 1: result.Id = reader.Int(); break;
                    case 2: at = Point.Read(reader.Message()); break;
                    default: reader.Skip(); break;
                }
            result.At = ReadPoint(at, points);
            return result;
        }

        private static Furniture ReadFurniture(ProtobufReader reader, List<List<int>> steps)
        {
            var furniture = new Furniture();
            var of = new List<int>();
            while (reader.Next())
                switch (reader.Field)
                {
                    case 1: furniture.Archetype = reader.Text(); break;
                    case 2: reader.Numbers(of.Add); break;
                    default: reader.Skip(); break;
                }
            steps.Add(of);
            return furniture;
        }

        private static FloorMetrics ReadMetrics(ProtobufReader reader)
        {
            var metrics = new FloorMetrics();
            while (reader.Next())
                switch (reader.Field)
                {
                    case 1: metrics.CriticalPath = reader.Int(); break;
                    case 2: metrics.PassableCells = reader.Int(); break;
                    case 3: metrics.Loops = reader.Int(); break;
                    case 4: metrics.Difficulty = reader.Int(); break;
                    default: reader.Skip(); break;
                }
            return metrics;
        }
    }
}
