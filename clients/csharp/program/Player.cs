// A fake player for .ci/restart: floors.exe SERVER play SECONDS. It calls for that time from several tasks, prints a line
// for each failure, and a summary.
using System;
using System.Diagnostics;
using System.Linq;
using System.Threading.Tasks;

namespace Floors
{
    public sealed class Player
    {
        private const int Tasks = 3;
        private readonly FloorClient client;
        private readonly Stopwatch clock = Stopwatch.StartNew();
        private readonly TimeSpan end;
        private readonly object locked = new object();
        private int calls, failed;
        private TimeSpan longest;

        private Player(FloorClient client, int seconds)
        {
            this.client = client;
            end = TimeSpan.FromSeconds(seconds);
        }

        public static int Play(Uri server, int seconds)
        {
            using (var client = new FloorClient(server))
            {
                var player = new Player(client, seconds);
                Task.WaitAll(Enumerable.Range(0, Tasks).Select(tower => Task.Run(() => player.CallAsync((ulong)tower))).ToArray());
                Console.WriteLine("{0} calls, 0 floors streamed, {1} failed, longest {2:F1} s", player.calls, player.failed,
                    player.longest.TotalSeconds);
                return player.failed == 0 ? 0 : 1;
            }
        }

        private async Task CallAsync(ulong tower)
        {
            for (uint number = 1; number == 1 || clock.Elapsed < end; number++)
            {
                var start = clock.Elapsed;
                string failure = null;
                try
                {
                    await client.GetFloorAsync(new FloorSpec { Seed = tower, Number = number, Width = 32, Height = 32 });
                }
                catch (FloorException error)
                {
                    failure = error.Message;
                }
                Count(clock.Elapsed - start, failure);
                await Task.Delay(5);
            }
        }

        private void Count(TimeSpan took, string failure)
        {
            lock (locked)
            {
                if (took > longest) longest = took;
                if (failure == null) calls++;
                else failed++;
                if (failure != null) Console.WriteLine("call: " + failure);
            }
        }
    }
}
