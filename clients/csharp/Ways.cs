// Ways over a floor: where a walker gets with the keys that it has, and how. A step leads to one of the four neighbours
// of a cell. All clients answer alike: docs/clients/kit.md.
using System.Collections.Generic;
using System.Linq;

namespace Floors
{
    public sealed partial class Floor
    {
        /// <summary>No way leads to the cell.</summary>
        private const int Far = int.MaxValue;
        private const int Nowhere = -1;

        /// <summary>Whether a walker can enter a cell; false outside the floor. Secret doors are walls.</summary>
        /// <param name="keys">The ids of the locks whose keys the walker has; null for none.</param>
        public bool Passable(int x, int y, ICollection<int> keys = null)
        {
            return Has(x, y) && Enters(y * Width + x, keys);
        }

        /// <summary>
        /// For each cell, at y * Width + x, whether a walker with these keys gets there from a cell, itself among them.
        /// None from outside the floor.
        /// </summary>
        /// <param name="keys">The ids of the locks whose keys the walker has; null for none.</param>
        public bool[] Reachable(Point from, ICollection<int> keys = null)
        {
            return Distances(CellOf(from), Nowhere, keys).Select(steps => steps != Far).ToArray();
        }

        /// <summary>The steps of the shortest way between two cells; 0 to itself, null if there is none.</summary>
        /// <param name="keys">The ids of the locks whose keys the walker has; null for none.</param>
        public int? Distance(Point from, Point to, ICollection<int> keys = null)
        {
            return Path(from, to, keys)?.Count - 1;
        }

        /// <summary>
        /// The cells of the shortest way, both ends among them; null if there is none. Of ways with as few steps it is
        /// the one whose first different step leads north, else west, else east.
        /// </summary>
        /// <param name="keys">The ids of the locks whose keys the walker has; null for none.</param>
        public List<Point> Path(Point from, Point to, ICollection<int> keys = null)
        {
            int at = CellOf(from), end = CellOf(to);
            if (at == Nowhere || end == Nowhere || (at != end && !Enters(end, keys))) return null;
            var left = Distances(end, at, keys);
            if (left[at] == Far) return null;
            var path = new List<Point> { from };
            while (at != end)
            {
                at = Beside(at).First(next => left[next] < left[at]);
                path.Add(PointOf(at));
            }
            return path;
        }

        /// <summary>
        /// Cells for a party, each of its own: those nearest to the entry that everybody can reach without keys, but
        /// for doors and the stairs down. As near ones come row by row. Fewer than the count if there are no more.
        /// </summary>
        public List<Point> Starts(int count)
        {
            var steps = Distances(CellOf(Entry), Nowhere, null);
            var cells = Enumerable.Range(0, steps.Length).Where(cell => steps[cell] != Far && Stands(cell));
            return cells.OrderBy(cell => steps[cell]).Take(count).Select(PointOf).ToList();
        }

        private bool Stands(int cell)
        {
            var terrain = (Terrain)Terrain[cell];
            return terrain != Floors.Terrain.Door && terrain != Floors.Terrain.StairsDown;
        }

        private bool Enters(int cell, ICollection<int> keys)
        {
            switch ((Terrain)Terrain[cell])
            {
                case Floors.Terrain.Floor:
                case Floors.Terrain.Door:
                case Floors.Terrain.StairsUp:
                case Floors.Terrain.StairsDown:
                case Floors.Terrain.ShallowWater:
                case Floors.Terrain.Bridge:
                case Floors.Terrain.Grass:
                case Floors.Terrain.Rubble:
                    return true;
                case Floors.Terrain.LockedDoor:
                    var found = Locks.Find(one => CellOf(one.At) == cell);
                    return found != null && keys != null && keys.Contains(found.Id);
                default:
                    return false;
            }
        }

        /// <summary>The steps from a cell to each; into <paramref name="also"/> even if nobody enters it.</summary>
        private int[] Distances(int from, int also, ICollection<int> keys)
        {
            var steps = Enumerable.Repeat(Far, Terrain.Length).ToArray();
            if (from == Nowhere) return steps;
            steps[from] = 0;
            var queue = new Queue<int>(new[] { from });
            while (queue.Count > 0)
            {
                var at = queue.Dequeue();
                foreach (var next in Beside(at))
                {
                    if (steps[next] != Far || (next != also && !Enters(next, keys))) continue;
                    steps[next] = steps[at] + 1;
                    queue.Enqueue(next);
                }
            }
            return steps;
        }

        /// <summary>The neighbours to the north, west, east and south.</summary>
        private IEnumerable<int> Beside(int cell)
        {
            if (cell >= Width) yield return cell - Width;
            if (cell % Width > 0) yield return cell - 1;
            if (cell % Width < Width - 1) yield return cell + 1;
            if (cell < Terrain.Length - Width) yield return cell + Width;
        }

        private int CellOf(Point point)
        {
            return Has(point.X, point.Y) ? point.Y * Width + point.X : Nowhere;
        }

        private Point PointOf(int cell)
        {
            return new Point { X = cell % Width, Y = cell / Width };
        }
    }
}
