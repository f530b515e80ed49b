using System.Collections.Generic;
using System.Linq;

namespace Floors
{
    /// <summary>The grid codec.</summary>
    public sealed class Grid
    {
        private const int MaxSide = 512, MaxPalette = 256, MaxValue = 255;
        private const int Uniform = 1, Raw8 = 2, Packed = 3, Rle = 4;
        private readonly List<int> palette = new List<int>();
        private int encoding, bits;
        private byte[] data = new byte[0];

        public int Width { get; private set; }
        public int Height { get; private set; }

        /// <summary>The grid in the bytes of a Grid.</summary>
        public static Grid Read(byte[] encoded)
        {
            return Read(new ProtobufReader(encoded));
        }

        internal static Grid Read(ProtobufReader reader)
        {
            var grid = new Grid();
            while (reader.Next())
                switch (reader.Field)
                {
                    case 1: grid.Width = reader.Int(); break;
                    case 2: grid.Height = reader.Int(); break;
                    case 3: reader.Numbers(grid.palette.Add); break;
                    case 4: grid.encoding = reader.Int(); break;
                    case 5: grid.bits = reader.Int(); break;
                    case 6: grid.data = reader.Bytes(); break;
                    default: reader.Skip(); break;
                }
            return grid;
        }

        /// <summary>The values of the cells, row by row.</summary>
        /// <exception cref="FloorException">The data do not fill the grid, or fields contradict each other.</exception>
        public byte[] Cells()
        {
            if (Width < 1 || Width > MaxSide || Height < 1 || Height > MaxSide) throw Malformed("its size");
            var ascending = palette.Zip(palette.Skip(1), (a, b) => a < b).All(less => less);
            if (palette.Count < 1 || palette.Count > MaxPalette || !ascending) throw Malformed("its palette");
            if (palette[0] < 0 || palette.Last() > MaxValue) throw Malformed("its palette");
            if (encoding == Packed ? bits != 1 && bits != 2 && bits != 4 : bits != 0) throw Malformed("its bits");
            var indices = Indices(Width * Height);
            if (indices.Length != Width * Height) throw Malformed("its length");
            if (indices.Any(index => index >= palette.Count)) throw Malformed("an index");
            return indices.Select(index => (byte)palette[index]).ToArray();
        }

        private byte[] Indices(int size)
        {
            switch (encoding)
            {
                case Uniform:
                    return data.Length == 0 && palette.Count == 1 ? new byte[size] : throw Malformed("its palette or length");
                case Raw8:
                    return data;
                case Packed:
                    return Unpack(size);
                case Rle:
                    return Runs(size);
                default:
                    throw Malformed("its encoding " + encoding);
            }
        }

        private byte[] Unpack(int size)
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

        private byte[] Runs(int size)
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
            return FloorException.Invalid("grid", what + " is wrong");
        }
    }
}
