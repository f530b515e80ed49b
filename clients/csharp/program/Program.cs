// Draws a floor: floors.exe [SERVER] [NUMBER] [GENERATOR_VERSION]. With a folder of test vectors as the only argument it checks those.
using System;
using System.IO;

namespace Floors
{
    public static class Program
    {
        /// <summary>A character for each terrain; the last one is for those of newer servers.</summary>
        private const string Glyphs = " #.+LS<>~}{:=\",O?";

        public static int Main(string[] arguments)
        {
            if (arguments.Length == 1 && Directory.Exists(arguments[0])) return Vectors.Check(arguments[0]);
            var server = new Uri(arguments.Length > 0 ? arguments[0] : "http://127.0.0.1:50051");
            if (arguments.Length == 3 && arguments[1] == "play") return Player.Play(server, int.Parse(arguments[2]));
            var number = arguments.Length > 1 ? uint.Parse(arguments[1]) : 7;
            var version = arguments.Length > 2 ? uint.Parse(arguments[2]) : 0;
            try
            {
                using (var client = new FloorClient(server) { GeneratorVersion = version })
                {
                    var floor = client.GetFloorAsync(new FloorSpec { Seed = 42, Number = number }).GetAwaiter().GetResult();
                    for (var y = 0; y < floor.Height; y++)
                    {
                        for (var x = 0; x < floor.Width; x++)
                            Console.Write(Glyphs[Math.Min((int)floor.TerrainAt(x, y), Glyphs.Length - 1)]);
                        Console.WriteLine();
                    }
                    Console.WriteLine(floor.Name);
                    var exit = floor.Exit;
                    Console.WriteLine("{0} rooms, exit at {1} {2}, terrain {3}", floor.Rooms.Count, exit.X, exit.Y,
                        floor.TerrainAt(exit.X, exit.Y));
                }
                return 0;
            }
            catch (FloorException error)
            {
                Console.WriteLine(error.Message);
                return 1;
            }
        }
    }
}
