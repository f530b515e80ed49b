// Prints a floor. With a folder of test vectors as the second argument it decodes their grids instead.
using System;
using System.IO;
using System.Linq;
using Floors;
using Newtonsoft.Json.Linq;

public static class Program
{
    public static int Main(string[] arguments)
    {
        if (arguments.Length > 1) return Vectors(arguments[1]);
        var server = new Uri(arguments.Length > 0 ? arguments[0] : "http://127.0.0.1:50051");
        using (var client = new FloorClient(server))
        {
            var floor = client.GetFloorAsync(42, 7).GetAwaiter().GetResult();
            int x = (int?)floor.Json["exit"]["x"] ?? 0, y = (int?)floor.Json["exit"]["y"] ?? 0;
            var terrain = floor.Terrain[y * floor.Width + x];
            Console.WriteLine("{0} rooms, exit at {1} {2}, terrain {3}", floor.Json["rooms"].Count(), x, y, terrain);
        }
        return 0;
    }

    private static int Vectors(string folder)
    {
        var manifest = JObject.Parse(File.ReadAllText(Path.Combine(folder, "manifest.json")));
        int floors = 0, wrong = 0;
        foreach (var vector in manifest["floors"].Where(vector => vector["json"] != null))
        {
            var decoded = JObject.Parse(File.ReadAllText(Path.Combine(folder, (string)vector["json"])));
            var floor = new Floor((JObject)decoded["floor"]);
            var terrain = string.Concat(floor.Terrain.Select(cell => cell.ToString("x")));
            var region = string.Concat(floor.Region.Select(cell => cell.ToString("x2")));
            floors++;
            if (terrain != string.Concat(decoded["terrain"].Select(row => (string)row)) ||
                region != string.Concat(decoded["region"].Select(row => (string)row)))
            {
                Console.WriteLine("{0} differs", vector["name"]);
                wrong++;
            }
        }
        Console.WriteLine("{0} floors, {1} wrong", floors, wrong);
        return wrong == 0 && floors > 0 ? 0 : 1;
    }
}
