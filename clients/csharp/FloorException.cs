// Why a call of FloorClient failed.
using System;
using System.Globalization;
using System.Net.Security;
using System.Net.Sockets;
using System.Security.Authentication;
using System.Text.RegularExpressions;

namespace Floors
{
    /// <summary>Why a call failed.</summary>
    public sealed class FloorException : Exception
    {
        /// <summary>A status in lower case, such as "invalid_argument"; "data_loss" if the answer is not the floor.</summary>
        public string Code { get; }

        /// <summary>How long the server asks to wait before the next attempt.</summary>
        public TimeSpan? RetryAfter { get; private set; }

        /// <summary>Whether nothing accepted the connection.</summary>
        public bool IsRefused { get; private set; }

        /// <summary>Whether TLS fails, which no retry mends.</summary>
        public bool IsTlsMistake { get; private set; }

        /// <summary>Whether a later attempt may succeed.</summary>
        public bool IsTransient =>
            !IsTlsMistake && (Code == "unavailable" || Code == "canceled" || Code == "deadline_exceeded"
                || (Code == "resource_exhausted" && RetryAfter != null));

        public FloorException(string code, string message, Exception cause = null) : base(code + ": " + message, cause)
        {
            Code = code;
        }

        /// <summary>The error in the body of a refusal, which is JSON that begins with code and message.</summary>
        public static FloorException Refused(string body)
        {
            var code = Text(body, "code");
            if (code == "") return new FloorException("unknown", "what answers is no floor server");
            var delay = Text(body, "retryDelay").TrimEnd('s');
            double seconds;
            var asked = double.TryParse(delay, NumberStyles.Float, CultureInfo.InvariantCulture, out seconds);
            return new FloorException(code, Text(body, "message")) { RetryAfter = asked ? TimeSpan.FromSeconds(seconds) : (TimeSpan?)null };
        }

        /// <summary>The error for a connection that failed, and why.</summary>
        internal static FloorException Unreachable(Uri server, Exception error, SslPolicyErrors certificate)
        {
            var tls = server.Scheme == "https" && Cause<AuthenticationException>(error) != null;
            var reason = tls ? TlsReason(certificate) : error.GetBaseException().Message;
            var socket = Cause<SocketException>(error);
            if (server.Scheme == "http" && socket == null)
                reason = "the server ended the connection without an answer: it closes, or it speaks TLS (then write https://): " + reason;
            return new FloorException("unavailable", server.Authority + ": " + reason, error)
            {
                IsTlsMistake = tls,
                IsRefused = socket != null && socket.SocketErrorCode == SocketError.ConnectionRefused,
            };
        }

        internal static FloorException Invalid(string fault, string reason)
        {
            return new FloorException("data_loss", fault + ": " + reason);
        }

        private static string TlsReason(SslPolicyErrors certificate)
        {
            if ((certificate & SslPolicyErrors.RemoteCertificateNameMismatch) != 0)
                return "the certificate of the server is for another name";
            if (certificate != SslPolicyErrors.None)
                return "the certificate of the server is of an authority that is not trusted, or has expired";
            return "the server does not speak TLS (write http://)";
        }

        private static T Cause<T>(Exception error) where T : Exception
        {
            for (; error != null; error = error.InnerException)
                if (error is T) return (T)error;
            return null;
        }

        private static string Text(string json, string name)
        {
            var match = Regex.Match(json, "\"" + name + "\"\\s*:\\s*\"((?:[^\"\\\\]|\\\\.)*)\"");
            return Regex.Unescape(match.Groups[1].Value);
        }
    }
}
