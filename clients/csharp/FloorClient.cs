// Gets floors from the floor server as protobuf over HTTP: for Unity (docs/clients/csharp.md), and for any .NET. Needs
// nothing beyond .NET Standard 2.1.
using System;
using System.Diagnostics;
using System.IO;
using System.Linq;
using System.Net.Http;
using System.Net.Http.Headers;
using System.Net.Security;
using System.Threading;
using System.Threading.Tasks;

namespace Floors
{
    /// <summary>A client of one floor server. Calls may run at the same time. Make one and keep it.</summary>
    public sealed class FloorClient : IDisposable
    {
        private const int Retries = 4;
        private const int FirstWaitMs = 100, LongestWaitMs = 2000;
        /// <summary>A server that restarts is awaited for so long: until then attempts that nothing accepts are not counted.</summary>
        private const int RestartMs = 10000;
        private const int MaxAnswerBytes = 16 * 1024 * 1024;
        private readonly HttpClient http;
        private readonly Uri server;
        private readonly Uri getFloor;
        private readonly Random random = new Random();

        /// <summary>
        /// Accepts floors of this generator version only, for games whose towers must not change; 0 is any. A server of
        /// another version refuses the call: "failed_precondition".
        /// </summary>
        public uint GeneratorVersion { get; set; }

        /// <summary>Limits a call with all its attempts and the waits between them.</summary>
        public TimeSpan Timeout { get; set; } = TimeSpan.FromSeconds(10);

        /// <summary>What was wrong with the last certificate.</summary>
        private SslPolicyErrors certificate;

        /// <param name="server">Such as http://127.0.0.1:50051.</param>
        /// <param name="token">Sent as "authorization: Bearer TOKEN" if given; to other machines by https only.</param>
        public FloorClient(Uri server, string token = null)
        {
            if (server.Scheme != "http" && server.Scheme != "https")
                throw new ArgumentException("the address is of " + server.Scheme + ": write http://host:port");
            if (server.PathAndQuery != "/" || server.Fragment != "" || server.UserInfo != "")
                throw new ArgumentException("the address of " + server.Host + " has more than a host and a port, which would not be sent");
            if (token != null && (token == "" || token.Any(character => character < '!' || character > '~')))
                throw new ArgumentException("the token is empty or has a character that a header cannot carry, such as a line break");
            if (token != null && server.Scheme != "https" && !server.IsLoopback)
                throw new ArgumentException("a token is sent to " + server.Host + " by https only");
            this.server = server;
            getFloor = new Uri(server, "/floors.v1.FloorService/GetFloor");
            var handler = new HttpClientHandler { AllowAutoRedirect = false };
            // It only notes the reason: a certificate with errors is refused as without it.
            handler.ServerCertificateCustomValidationCallback =
                (message, received, chain, errors) => (certificate = errors) == SslPolicyErrors.None;
            http = new HttpClient(handler)
            {
                Timeout = System.Threading.Timeout.InfiniteTimeSpan,
                MaxResponseContentBufferSize = MaxAnswerBytes,
            };
            if (token != null) http.DefaultRequestHeaders.Authorization = new AuthenticationHeaderValue("Bearer", token);
        }

        /// <summary>One floor. A server that is busy, closes or restarts is asked again.</summary>
        /// <exception cref="FloorException">The server refuses the call, or its answer is not the floor.</exception>
        public async Task<Floor> GetFloorAsync(FloorSpec spec, CancellationToken cancel = default(CancellationToken))
        {
            using (var limited = CancellationTokenSource.CreateLinkedTokenSource(cancel))
            {
                limited.CancelAfter(Timeout);
                var clock = Stopwatch.StartNew();
                for (int failed = 0, waits = 0; ; waits++)
                {
                    FloorException failure;
                    try
                    {
                        return Floor.Decode(await CallAsync(spec.EncodeRequest(), limited.Token, cancel).ConfigureAwait(false), spec);
                    }
                    catch (FloorException error) when (error.IsTransient)
                    {
                        failure = error;
                    }
                    if (!failure.IsRefused || clock.ElapsedMilliseconds >= RestartMs) failed++;
                    if (failed > Retries || !await WaitAsync(failure, waits, limited.Token, cancel).ConfigureAwait(false)) throw failure;
                }
            }
        }

        public void Dispose()
        {
            http.Dispose();
        }

        /// <summary>Waits until the next attempt. False at the deadline.</summary>
        private async Task<bool> WaitAsync(FloorException failure, int waits, CancellationToken limited, CancellationToken cancel)
        {
            var longest = Math.Min(FirstWaitMs * Math.Pow(2, waits), LongestWaitMs);
            double jitter;
            lock (random) jitter = random.NextDouble();
            try
            {
                await Task.Delay(failure.RetryAfter ?? TimeSpan.FromMilliseconds(longest * jitter), limited).ConfigureAwait(false);
                return true;
            }
            catch (OperationCanceledException) when (!cancel.IsCancellationRequested)
            {
                return false;
            }
        }

        private async Task<byte[]> CallAsync(byte[] request, CancellationToken limited, CancellationToken cancel)
        {
            var content = new ByteArrayContent(request);
            content.Headers.ContentType = new MediaTypeHeaderValue("application/proto");
            if (GeneratorVersion != 0) content.Headers.Add("floor-generator-version", GeneratorVersion.ToString());
            try
            {
                using (var response = await http.PostAsync(getFloor, content, limited).ConfigureAwait(false))
                {
                    if (response.IsSuccessStatusCode)
                        return await response.Content.ReadAsByteArrayAsync().ConfigureAwait(false);
                    throw FloorException.Refused(await response.Content.ReadAsStringAsync().ConfigureAwait(false));
                }
            }
            catch (OperationCanceledException) when (!cancel.IsCancellationRequested)
            {
                throw new FloorException("deadline_exceeded", "the server did not answer in time");
            }
            catch (Exception error) when (error is HttpRequestException || error is IOException)
            {
                throw FloorException.Unreachable(server, error, certificate);
            }
        }
    }
}
