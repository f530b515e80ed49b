// Gets floors from the floor server as protobuf over HTTP: for Unity (docs/clients/csharp.md), and for any .NET. Needs
// nothing beyond .NET Standard 2.1.
using System;
using System.Net.Http;
using System.Net.Http.Headers;
using System.Text.RegularExpressions;
using System.Threading;
using System.Threading.Tasks;

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

        /// <summary>
        /// Accepts floors of this generator version only, for games whose towers must not change; 0 is any. A server of
        /// another version refuses the call: "failed_precondition".
        /// </summary>
        public uint GeneratorVersion { get; set; }

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
        /// <exception cref="FloorException">The server refuses the call, or its answer is not the floor.</exception>
        public async Task<Floor> GetFloorAsync(FloorSpec spec, CancellationToken cancel = default(CancellationToken))
        {
            for (var attempt = 0; ; attempt++)
            {
                try
                {
                    return Floor.Decode(await CallAsync(spec.EncodeRequest(), cancel).ConfigureAwait(false), spec);
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

        private async Task<byte[]> CallAsync(byte[] request, CancellationToken cancel)
        {
            var content = new ByteArrayContent(request);
            content.Headers.ContentType = new MediaTypeHeaderValue("application/proto");
            if (GeneratorVersion != 0) content.Headers.Add("floor-generator-version", GeneratorVersion.ToString());
            try
            {
                using (var response = await http.PostAsync(getFloor, content, cancel).ConfigureAwait(false))
                {
                    if (response.IsSuccessStatusCode)
                        return await response.Content.ReadAsByteArrayAsync().ConfigureAwait(false);
                    throw FloorException.Refused(await response.Content.ReadAsStringAsync().ConfigureAwait(false));
                }
            }
            catch (HttpRequestException error)
            {
                throw new FloorException("unavailable", (error.InnerException ?? error).Message);
            }
            catch (OperationCanceledException) when (!cancel.IsCancellationRequested)
            {
                throw new FloorException("deadline_exceeded", "the server did not answer in time");
            }
        }
    }

    /// <summary>Why a call failed.</summary>
    public sealed class FloorException : Exception
    {
        /// <summary>A status in lower case, such as "invalid_argument"; "data_loss" if the answer is not the floor.</summary>
        public string Code { get; }

        public bool IsTransient => Code == "unavailable" || Code == "resource_exhausted";

        public FloorException(string code, string message) : base(code + ": " + message)
        {
            Code = code;
        }

        /// <summary>The error in the body of a refusal, which is JSON that begins with code and message.</summary>
        public static FloorException Refused(string body)
        {
            var code = Text(body, "code");
            if (code == "") return new FloorException("unknown", "what answers is no floor server");
            return new FloorException(code, Text(body, "message"));
        }

        internal static FloorException Invalid(string fault, string reason)
        {
            return new FloorException("data_loss", fault + ": " + reason);
        }

        private static string Text(string json, string name)
        {
            var match = Regex.Match(json, "\"" + name + "\"\\s*:\\s*\"((?:[^\"\\\\]|\\\\.)*)\"");
            return Regex.Unescape(match.Groups[1].Value);
        }
    }
}
