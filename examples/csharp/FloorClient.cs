// Gets floors from the floor server as JSON, by HttpClient and Newtonsoft.Json: for Unity (docs/clients/csharp.md), and
// for any .NET. Unity has Newtonsoft.Json as the package com.unity.nuget.newtonsoft-json.
using System;
using System.Linq;
using System.Net.Http;
using System.Net.Http.Headers;
using System.Text;
using System.Threading;
using System.Threading.Tasks;
using Newtonsoft.Json;
using Newtonsoft.Json.Linq;

namespace Floors
{
    /// <summary>A client of one floor server. Calls may run at the same time. Make one and keep it.</summary>
    public sealed class FloorClient : IDisposable
    {
        private const int Retries = 3;
        private const int MaxAnswerBytes = 16 * 1024 * 1024;
        private readonly HttpClient http;
        private readonly Uri getFloor;
        private readonly Random random = new Random();

        /// <param name="server">Such as http://127.0.0.1:50051.</param>
        /// <param name="token">Sent as "authorization: Bearer TOKEN" if given; to other machines by https only.</param>
        public FloorClient(Uri server, string token = null)
        {
            if (token != null && server.Scheme != "https" && !server.IsLoopback)
                throw new ArgumentException("a token is sent to " + server.Host + " by https only");
            getFloor = new Uri(server, "/floors.v1.FloorService/GetFloor");
            http = new HttpClient(new HttpClientHandler { AllowAutoRedirect = false })
            {
                Timeout = TimeSpan.FromSeconds(10),
                MaxResponseContentBufferSize = MaxAnswerBytes,
            };
            if (token != null) http.DefaultRequestHeaders.Authorization = new AuthenticationHeaderValue("Bearer", token);
        }

        /// <summary>One floor. A server that is busy, closes or cannot be reached is asked again.</summary>
        /// <exception cref="FloorException">The server refuses the call, or its answer is no floor.</exception>
        public async Task<Floor> GetFloorAsync(ulong seed, uint number, CancellationToken cancel = default(CancellationToken))
        {
            // A 64-bit number is a string in the JSON of protobuf.
            var spec = new JObject { ["seed"] = seed.ToString(), ["number"] = number };
            var request = new JObject { ["spec"] = spec }.ToString(Formatting.None);
            for (var attempt = 0; ; attempt++)
            {
                try
                {
                    return await CallAsync(request, cancel).ConfigureAwait(false);
                }
                catch (FloorException error) when (attempt < Retries && error.IsTransient)
                {
                    double jitter;
                    lock (random) jitter = 0.5 + random.NextDouble() / 2;
                    await Task.Delay(TimeSpan.FromMilliseconds(50 * (1 << attempt) * jitter), cancel).ConfigureAwait(false);
                }
            }
        }

        public void Dispose()
        {
            http.Dispose();
        }

        private async Task<Floor> CallAsync(string request, CancellationToken cancel)
        {
            var content = new StringContent(request, Encoding.UTF8);
            content.Headers.ContentType = new MediaTypeHeaderValue("application/json");
            JObject answer;
            bool success;
            try
            {
                using (var response = await http.PostAsync(getFloor, content, cancel).ConfigureAwait(false))
                {
                    success = response.IsSuccessStatusCode;
                    answer = JObject.Parse(await response.Content.ReadAsStringAsync().ConfigureAwait(false));
                }
            }
            catch (HttpRequestException error)
            {
                throw new FloorException("unavailable", error.Message);
            }
            catch (OperationCanceledException) when (!cancel.IsCancellationRequested)
            {
                throw new FloorException("deadline_exceeded", "the server did not answer in time");
            }
            catch (JsonException error)
            {
                throw new FloorException("internal", "the answer is no JSON: " + error.Message);
            }
            if (!success) throw new FloorException((string)answer["code"] ?? "unknown", (string)answer["message"]);
            return new Floor(answer);
        }
    }

    /// <summary>Why a call failed.</summary>
    public sealed class FloorException : Exception
    {
        /// <summary>A status in lower case, such as "invalid_argument".</summary>
        public string Code { get; }

        public bool IsTransient => Code == "unavailable" || Code == "resource_exhausted";

        public FloorException(string code, string message) : base(code + ": " + message)
        {
            Code = code;
        }
    }

    /// <summary>A floor. Cell (x, y) is at y * Width + x.</summary>
    public sealed class Floor
    {
        /// <summary>The whole floor as JSON, with rooms, spawns and items.</summary>
        public JObject Json { get; }
        public int Width { get; }
        public int Height { get; }
        /// <summary>The number of a Terrain for each cell. Treat an unknown one as impassable.</summary>
        public byte[] Terrain { get; }
        /// <summary>The room id + 1 of each cell, 0 outside rooms.</summary>
        public byte[] Region { get; }

        public Floor(JObject json)
        {
            Json = json;
            Terrain = Grid.Decode(json["terrain"] as JObject);
            Region = Grid.Decode(json["region"] as JObject);
            Width = (int)json["terrain"]["width"];
            Height = (int)json["terrain"]["height"];
            if (Region.Length != Terrain.Length) throw new FloorException("data_loss", "the grids differ in size");
        }
    }

    /// <summary>The grid codec.</summary>
    public static class Grid
    {
        private const int MaxSide = 512;

        /// <summary>The values of the cells, row by row. Fields that are 0 are left out in JSON.</summary>
        public static byte[] Decode(JObject grid)
        {
            if (grid == null) throw Malformed("it is missing");
            long width = (long?)grid["width"] ?? 0, height = (long?)grid["height"] ?? 0, bits = (long?)grid["bits"] ?? 0;
            if (width < 1 || width > MaxSide || height < 1 || height > MaxSide) throw Malformed("its size");
            var palette = (grid["palette"] ?? new JArray()).Select(value => (long)value).ToArray();
            var ascending = palette.Zip(palette.Skip(1), (a, b) => a < b).All(less => less);
            if (palette.Length < 1 || palette.Length > 256 || !ascending || palette[0] < 0 || palette.Last() > 255)
                throw Malformed("its palette");
            var data = Convert.FromBase64String((string)grid["data"] ?? "");
            var encoding = (string)grid["encoding"];
            var packed = encoding == "GRID_ENCODING_PACKED";
            if (packed != (bits == 1 || bits == 2 || bits == 4) || !packed && bits != 0) throw Malformed("its bits");
            var indices = Indices(encoding, data, (int)(width * height), (int)bits);
            var cells = new byte[width * height];
            if (indices.Length != cells.Length) throw Malformed("its length");
            for (var i = 0; i < cells.Length; i++)
            {
                if (indices[i] >= palette.Length) throw Malformed("an index");
                cells[i] = (byte)palette[indices[i]];
            }
            return cells;
        }

        private static byte[] Indices(string encoding, byte[] data, int size, int bits)
        {
            switch (encoding)
            {
                case "GRID_ENCODING_UNIFORM":
                    return data.Length == 0 ? new byte[size] : throw Malformed("its length");
                case "GRID_ENCODING_RAW8":
                    return data;
                case "GRID_ENCODING_PACKED":
                    return Unpack(data, size, bits);
                case "GRID_ENCODING_RLE":
                    return Runs(data, size);
                default:
                    throw Malformed("its encoding " + encoding);
            }
        }

        private static byte[] Unpack(byte[] data, int size, int bits)
        {
            var perByte = 8 / bits;
            if (data.Length != (size + perByte - 1) / perByte) throw Malformed("its length");
            var used = size % perByte;
            if (used != 0 && data[data.Length - 1] >> (used * bits) != 0) throw Malformed("its unused bits");
            var indices = new byte[size];
            for (var i = 0; i < size; i++)
                indices[i] = (byte)(data[i / perByte] >> (i % perByte * bits) & ((1 << bits) - 1));
            return indices;
        }

        private static byte[] Runs(byte[] data, int size)
        {
            var indices = new byte[size];
            int filled = 0, at = 0;
            while (at < data.Length)
            {
                var index = data[at++];
                int length = 0, shift = 0;
                while (true)
                {
                    // Three bytes hold every length of a run.
                    if (at >= data.Length || shift > 14) throw Malformed("a run");
                    length |= (data[at] & 0x7f) << shift;
                    shift += 7;
                    if (data[at++] < 0x80) break;
                }
                if (length >= size - filled) throw Malformed("a run");
                for (var end = filled + length + 1; filled < end; filled++) indices[filled] = index;
            }
            return filled == size ? indices : throw Malformed("its length");
        }

        private static FloorException Malformed(string what)
        {
            return new FloorException("data_loss", "a grid is malformed: " + what);
        }
    }
}
