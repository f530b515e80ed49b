using System;
using System.Text;

namespace Floors
{
    /// <summary>Reads the fields of a protobuf message.</summary>
    internal sealed class ProtobufReader
    {
        private const int Varint = 0, Fixed64 = 1, LengthDelimited = 2, Fixed32 = 5;
        private static readonly Encoding Utf8 = new UTF8Encoding(false, true);
        private readonly byte[] data;
        private readonly int end;
        private int wireType;

        public ProtobufReader(byte[] data) : this(data, 0, data.Length)
        {
        }

        private ProtobufReader(byte[] data, int start, int end)
        {
            this.data = data;
            this.end = end;
            Position = start;
        }

        /// <summary>The number of the field that <see cref="Next"/> found.</summary>
        public int Field { get; private set; }

        /// <summary>Where it goes on.</summary>
        public int Position { get; private set; }

        /// <summary>Goes to the next field, whose value must then be read or skipped.</summary>
        public bool Next()
        {
            if (Position == end) return false;
            var tag = ReadVarint();
            Field = (int)(tag >> 3);
            wireType = (int)(tag & 7);
            if (Field < 1 || tag > uint.MaxValue) throw Malformed("a field has no number");
            return true;
        }

        public ulong UInt64()
        {
            Expect(Varint);
            return ReadVarint();
        }

        public uint UInt32()
        {
            return (uint)UInt64();
        }

        /// <summary>A number that fits in 31 bits in every floor; a malformed one is negative.</summary>
        public int Int()
        {
            var value = UInt64();
            return value <= int.MaxValue ? (int)value : -1;
        }

        public ulong Fixed()
        {
            Expect(Fixed64);
            ulong value = 0;
            var at = Take(8);
            for (var i = 7; i >= 0; i--) value = value << 8 | data[at + i];
            return value;
        }

        public ProtobufReader Message()
        {
            Expect(LengthDelimited);
            var length = ReadVarint();
            if (length > (ulong)(end - Position)) throw Malformed("a field ends after the message");
            return new ProtobufReader(data, Take((int)length), Position);
        }

        public byte[] Bytes()
        {
            var content = Message();
            var bytes = new byte[content.end - content.Position];
            Array.Copy(data, content.Position, bytes, 0, bytes.Length);
            return bytes;
        }

        public string Text()
        {
            var content = Message();
            try
            {
                return Utf8.GetString(data, content.Position, content.end - content.Position);
            }
            catch (DecoderFallbackException)
            {
                throw Malformed("a text is no UTF-8");
            }
        }

        /// <summary>Calls <paramref name="add"/> for each number of a repeated field, packed or not.</summary>
        public void Numbers(Action<int> add)
        {
            if (wireType == Varint)
            {
                add(Int());
                return;
            }
            var list = Message();
            while (list.Position < list.end) add(list.Int());
        }

        public void Skip()
        {
            if (wireType == Varint) ReadVarint();
            else if (wireType == Fixed64) Take(8);
            else if (wireType == LengthDelimited) Message();
            else if (wireType == Fixed32) Take(4);
            else throw Malformed("wire type " + wireType);
        }

        private void Expect(int type)
        {
            if (wireType != type) throw Malformed("field " + Field + " has wire type " + wireType);
        }

        private ulong ReadVarint()
        {
            ulong value = 0;
            for (var shift = 0; shift < 64; shift += 7)
            {
                var part = data[Take(1)];
                value |= (ulong)(part & 0x7F) << shift;
                if (part < 0x80) return value;
            }
            throw Malformed("a number is longer than 10 bytes");
        }

        private int Take(int length)
        {
            if (length > end - Position) throw Malformed("the message ends early");
            Position += length;
            return Position - length;
        }

        private static FloorException Malformed(string what)
        {
            return FloorException.Invalid("protobuf", what);
        }
    }
}
