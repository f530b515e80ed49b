// XXH3-64 with seed 0, which .NET Standard 2.1 does not have.
using System;

namespace Floors
{
    /// <summary>The hash of 17 bytes or more: no floor is shorter.</summary>
    public static class Xxh3
    {
        public const int MinBytes = 17;
        private const uint Prime32A = 0x9E3779B1, Prime32B = 0x85EBCA77, Prime32C = 0xC2B2AE3D;
        private const ulong Prime64A = 0x9E3779B185EBCA87, Prime64B = 0xC2B2AE3D27D4EB4F, Prime64C = 0x165667B19E3779F9,
            Prime64D = 0x85EBCA77C2B2AE63, Prime64E = 0x27D4EB2F165667C5, PrimeAvalanche = 0x165667919E3779F9;
        private const int StripeBytes = 64, StripesPerBlock = 16;
        private static readonly byte[] Secret = Bytes(
            "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221" +
            "b8084674f743248ee03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8" +
            "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb" +
            "170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e");

        public static ulong Hash64(byte[] data)
        {
            if (data.Length < MinBytes) throw new ArgumentException("at least " + MinBytes + " bytes", "data");
            if (data.Length <= 128) return HashTo128(data);
            return data.Length <= 240 ? HashTo240(data) : HashLong(data);
        }

        private static ulong HashTo128(byte[] data)
        {
            var sum = (ulong)data.Length * Prime64A;
            for (var i = (data.Length - 1) / 32; i >= 0; i--)
            {
                sum += Mix(data, 16 * i, 32 * i);
                sum += Mix(data, data.Length - 16 * (i + 1), 32 * i + 16);
            }
            return Avalanche(sum);
        }

        private static ulong HashTo240(byte[] data)
        {
            var sum = (ulong)data.Length * Prime64A;
            for (var i = 0; i < 8; i++) sum += Mix(data, 16 * i, 16 * i);
            sum = Avalanche(sum);
            for (var i = 8; i < data.Length / 16; i++) sum += Mix(data, 16 * i, 16 * (i - 8) + 3);
            return Avalanche(sum + Mix(data, data.Length - 16, 119));
        }

        private static ulong HashLong(byte[] data)
        {
            var lanes = new[] { Prime32C, Prime64A, Prime64B, Prime64C, Prime64D, Prime32B, Prime64E, Prime32A };
            for (var stripe = 0; stripe < (data.Length - 1) / StripeBytes; stripe++)
            {
                var ofBlock = stripe % StripesPerBlock;
                Accumulate(lanes, data, stripe * StripeBytes, ofBlock * 8);
                if (ofBlock == StripesPerBlock - 1) Scramble(lanes);
            }
            // The last stripe ends with the data and may overlap the one before it.
            Accumulate(lanes, data, data.Length - StripeBytes, 121);
            var sum = (ulong)data.Length * Prime64A;
            for (var i = 0; i < lanes.Length; i += 2)
                sum += Fold(lanes[i] ^ Word(Secret, 11 + 8 * i), lanes[i + 1] ^ Word(Secret, 19 + 8 * i));
            return Avalanche(sum);
        }

        private static void Accumulate(ulong[] lanes, byte[] data, int at, int secretAt)
        {
            for (var i = 0; i < lanes.Length; i++)
            {
                var word = Word(data, at + 8 * i);
                var key = word ^ Word(Secret, secretAt + 8 * i);
                lanes[i ^ 1] += word;
                lanes[i] += (key & uint.MaxValue) * (key >> 32);
            }
        }

        private static void Scramble(ulong[] lanes)
        {
            for (var i = 0; i < lanes.Length; i++)
                lanes[i] = (lanes[i] ^ lanes[i] >> 47 ^ Word(Secret, 128 + 8 * i)) * Prime32A;
        }

        private static ulong Mix(byte[] data, int at, int secretAt)
        {
            return Fold(Word(data, at) ^ Word(Secret, secretAt), Word(data, at + 8) ^ Word(Secret, secretAt + 8));
        }

        // The halves of a 128-bit product, XORed.
        private static ulong Fold(ulong a, ulong b)
        {
            ulong aLow = (uint)a, aHigh = a >> 32, bLow = (uint)b, bHigh = b >> 32;
            ulong low = aLow * bLow, middle = aHigh * bLow;
            var carry = (low >> 32) + (uint)middle + aLow * bHigh;
            return (middle >> 32) + (carry >> 32) + aHigh * bHigh ^ (carry << 32 | (uint)low);
        }

        private static ulong Avalanche(ulong value)
        {
            value = (value ^ value >> 37) * PrimeAvalanche;
            return value ^ value >> 32;
        }

        private static ulong Word(byte[] data, int at)
        {
            // .NET and Unity run on little-endian machines only.
            return BitConverter.ToUInt64(data, at);
        }

        private static byte[] Bytes(string hex)
        {
            var bytes = new byte[hex.Length / 2];
            for (var i = 0; i < bytes.Length; i++) bytes[i] = Convert.ToByte(hex.Substring(2 * i, 2), 16);
            return bytes;
        }
    }
}
