// Checks FloorLayout.h without Unreal, and prints what a floor needs. `.ci/c` runs it.
#include <cstdio>

#include "FloorLayout.h"

int main()
{
    std::string Error;
    if (Floors::Generate(42, 0, Error) || Error.find("floor number 0 is not in") == std::string::npos)
    {
        std::printf("floor 0 is no error: %s\n", Error.c_str());
        return 1;
    }
    const Floors::FloorPtr Floor = Floors::Generate(42, 7, Error);
    // The component shows them.
    const floor_gen_names* Names = floor_gen_floor_names(Floor.get());
    if (!Names || !Names->name.text || !Names->hook.text)
    {
        std::printf("no names: %s\n", floor_gen_error_message());
        return 1;
    }
    const Floors::Layout Layout = Floors::LayOut(*Floor);
    uint32_t Passable = 0;
    for (const Floors::Cell& Cell : Layout.Ground)
    {
        Passable += floor_gen_passable(Floor->terrain[Cell.Y * Floor->width + Cell.X]);
    }
    const size_t Cells = static_cast<size_t>(Floor->width) * Floor->height;
    const bool Right = Passable == Floor->passable_cells && Layout.Walls.size() < Cells - Layout.Ground.size();
    std::printf("%zu cells of ground and %zu walls, %s\n", Layout.Ground.size(), Layout.Walls.size(), Right ? "right" : "wrong");
    return Right ? 0 : 1;
}
