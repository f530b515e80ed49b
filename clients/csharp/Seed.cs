// Towers that people name by a text. The rules are those of docs/clients/kit.md.
using System;
using System.Globalization;
using System.Linq;
using System.Text;
using System.Text.RegularExpressions;

namespace Floors
{
    /// <summary>Reads texts as the seeds of towers, as every client does.</summary>
    public static class Seed
    {
        private static readonly Encoding Utf8 = new UTF8Encoding(false, true);

        /// <summary>
        /// The seed of the tower that a text names: Seed.Of("my dungeon"). A number, such as "42", "-1" or "0xff", is
        /// the seed itself: -2^63 to 2^64 - 1, where a negative one counts down from 2^64. The NFC of Mono differs from
        /// that of .NET in rare characters, such as some of CJK compatibility: their tower is another there.
        /// </summary>
        /// <exception cref="ArgumentException">The text is empty, a number that is no seed, or no Unicode.</exception>
        public static ulong Of(string text)
        {
            var name = Name(text ?? "");
            if (name == "") throw new ArgumentException("the name of a tower is empty; write a number or a word");
            var plain = new string(name.Select(HalfWidth).ToArray());
            if (!Regex.IsMatch(plain, @"\A(0[xX]|[+-]?[0-9]+\z)")) return Hash(Utf8.GetBytes(name));
            if (!TryParse(plain, out var seed))
                throw new ArgumentException(plain + " is no seed: a number is -2^63 to 2^64 - 1, decimal, or 0x and" +
                    " up to 16 hexadecimal digits");
            return seed;
        }

        private static string Name(string text)
        {
            var seen = text.SkipWhile(IsUnseen).Reverse().SkipWhile(IsUnseen).Reverse();
            try
            {
                var name = new string(seen.ToArray()).Normalize();
                Utf8.GetByteCount(name);
                return name;
            }
            catch (ArgumentException error)
            {
                throw new ArgumentException("the name of a tower has half a surrogate pair; write whole ones", error);
            }
        }

        private static bool TryParse(string number, out ulong seed)
        {
            var invariant = CultureInfo.InvariantCulture;
            if (number.StartsWith("0x", StringComparison.OrdinalIgnoreCase))
                return ulong.TryParse(number.Substring(2), NumberStyles.AllowHexSpecifier, invariant, out seed);
            if (number[0] != '-') return ulong.TryParse(number, NumberStyles.AllowLeadingSign, invariant, out seed);
            var fits = long.TryParse(number, NumberStyles.AllowLeadingSign, invariant, out var negative);
            seed = unchecked((ulong)negative);
            return fits;
        }

        /// <summary>FNV-1a in 64 bits.</summary>
        private static ulong Hash(byte[] bytes)
        {
            return bytes.Aggregate(0xCBF29CE484222325, (hash, value) => unchecked((hash ^ value) * 0x100000001B3));
        }

        /// <summary>White space, controls, and what editors and chats put around words without showing it.</summary>
        private static bool IsUnseen(char c)
        {
            return c <= ' ' || c >= '\u007F' && c <= '\u00A0' || c == '\u00AD' || c == '\u1680' || c == '\u180E' ||
                c >= '\u2000' && c <= '\u200F' || c >= '\u2028' && c <= '\u202F' || c >= '\u205F' && c <= '\u2064' ||
                c >= '\u2066' && c <= '\u206F' || c == '\u3000' || c == '\uFEFF';
        }

        /// <summary>The ASCII character of a full-width form, and of the minus sign.</summary>
        private static char HalfWidth(char c)
        {
            if (c == '\u2212') return '-';
            return c >= '\uFF01' && c <= '\uFF5E' ? (char)(c - 0xFEE0) : c;
        }
    }
}
